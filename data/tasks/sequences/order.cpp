// Tasks that put the tokens of a sequence in another order.
#include <algorithm>
#include <functional>

#include <xgrad/data/synthetic/synthetic.hpp>

namespace xgrad {

// Ascending by id, keeping repeated ids. Equal tokens cannot be told apart, so the answer is
// unique.
static Tokens sorted(Tokens ids) {
  std::ranges::sort(ids);
  return ids;
}

// Each different token once, in order of first appearance. Adds to the count of each.
static Tokens without_repeats(const Tokens& ids, Tokens& counts) {
  Tokens result;
  for (const std::int32_t id : ids) {
    if (counts[std::size_t(id)]++ == 0) result.push_back(id);
  }
  return result;
}

extern const std::vector<TaskEntry> kOrderTasks = {
    uniform_task({.name = "copy",
                  .summary = "Output each token unchanged.",
                  .needs = "Neither positions nor layers: the residual path is enough.",
                  .theory = "solvable: the residual path carries each token to its output",
                  .source = "Rush 2018, The Annotated Transformer"},
                 [](const Tokens& ids) { return ids; }),
    uniform_task(
        {.name = "reverse",
         .summary = "Output the tokens in reverse order.",
         .needs = "Positions and one layer with one head.",
         .theory = "needs positions: one head attends to place n + 1 - i (Weiss et al. 2021)",
         .source = "Weiss, Goldberg and Yahav 2021, arXiv:2106.06981"},
        [](const Tokens& ids) { return Tokens(ids.rbegin(), ids.rend()); }),
    // Output i is input (i + shift) mod N, where N is the length of the sequence.
    synthetic_task(
        {.name = "rotate",
         .summary = "Move the tokens towards the front; the first ones wrap around to the end.",
         .options = length_options(
             16, {symbols_option(),
                  {"shift", 1, "Places by which each token moves towards the front.", 0, 65536}}),
         .needs = "Positions and one layer with one head.",
         .theory = "needs positions: one head attends to the place that is `shift` later (Weiss et "
                   "al. 2021)",
         .source =
             "after the select by indices of Weiss, Goldberg and Yahav 2021, arXiv:2106.06981"},
        [](const Options& options, Synthetic& task) {
          task = uniform_tokens(options, [shift = get_size(options, "shift")](Tokens ids) {
            std::ranges::rotate(ids, ids.begin() + std::ptrdiff_t(shift % ids.size()));
            return ids;
          });
        }),
    // x_1 x_3 x_5 ... x_2 x_4 x_6 ..., counted from 1.
    uniform_task({.name = "odds_first",
                  .summary = "Output the tokens at odd places in order, then those at even places.",
                  .options = length_options(16, {symbols_option(2)}),
                  .needs = "Positions and one layer with one head; more for several lengths.",
                  .theory = "needs positions: one head that attends to one place suffices at a "
                            "fixed length; with variable lengths the place depends on the length",
                  .source = "Deletang et al. 2023, arXiv:2207.02098"},
                 [](const Tokens& ids) {
                   Tokens result;
                   for (const std::size_t first : {0u, 1u}) {
                     for (std::size_t i = first; i < ids.size(); i += 2) result.push_back(ids[i]);
                   }
                   return result;
                 }),
    uniform_task({.name = "sort",
                  .summary = "Output the tokens in ascending order.",
                  .needs = "Positions and two layers: the first counts smaller tokens, the second "
                           "places the tokens.",
                  .theory = "needs positions and depth: the first layer counts smaller tokens, the "
                            "second places the tokens (Weiss et al. 2021)",
                  .source = "Weiss, Goldberg and Yahav 2021, arXiv:2106.06981"},
                 sorted),
    // The same task with the sizes of Deletang et al. 2023: five symbols, and any length up to 40.
    uniform_task(
        {.name = "bucket_sort",
         .summary = "Sort sequences of many lengths over few symbols.",
         .options = length_options(40, {symbols_option(5)}, 1),
         .needs = "Positions and two layers: the first counts smaller tokens, the second places "
                  "the tokens.",
         .theory = "needs positions and depth: the first layer counts smaller tokens, the second "
                   "places the tokens; beyond the training lengths, Deletang et al. measured an "
                   "accuracy of 0.919",
         .source =
             "Deletang et al. 2023, Neural Networks and the Chomsky Hierarchy, arXiv:2207.02098"},
        sorted),
    // As in RASP (Weiss et al. 2021): outputs after the last symbol are "-".
    synthetic_task(
        {.name = "sort_by_frequency",
         .summary = "Output each different token once, the most frequent first; ties in order of "
                    "appearance.",
         .options = length_options(16, {symbols_option(10, 1, 65536)}),  // every class has a name
         .needs = "Positions and three layers: to count, to compare the counts, and to place the "
                  "tokens.",
         .theory = "needs positions and depth: count, compare the counts, place (Weiss et al. "
                   "2021, with three layers)",
         .source = "Weiss, Goldberg and Yahav 2021, arXiv:2106.06981"},
        [](const Options& options, Synthetic& task) {
          const auto rest = std::int32_t(get_int(options, "symbols"));
          task = uniform_tokens(options, [rest](const Tokens& ids) {
            Tokens counts(std::size_t(rest) + 1), result = without_repeats(ids, counts);
            std::ranges::stable_sort(result, std::greater(),
                                     [&](std::int32_t id) { return counts[std::size_t(id)]; });
            result.resize(ids.size(), rest);
            return result;
          });
          task.shape.class_names = numbered(task.shape.classes, {"-"});
        }),
    synthetic_task(
        {.name = "distinct",
         .summary = "Output each different token once, in order of first appearance.",
         .options = uniform_options(),
         .needs = "Positions, and an encoder and a decoder of one layer each, because the length "
                  "of the output is part of the answer.",
         .theory =
             "needs positions: the decoder looks for the first token that it has not written yet",
         .source = "made for xgrad"},
        [](const Options& options, Synthetic& task) {
          const auto end = std::int32_t(get_int(options, "symbols"));
          task = uniform_tokens(options, [end](const Tokens& ids) {
            Tokens counts(std::size_t(end) + 1), result = without_repeats(ids, counts);
            result.push_back(end);
            return result;
          });
          task.shape.output = OutputKind::generated;
          task.shape.max_outputs = std::min(task.shape.max_length, task.shape.classes) + 1;
          task.shape.class_names = numbered(task.shape.classes, {"end"});
        })};

}  // namespace xgrad
