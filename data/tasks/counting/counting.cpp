// Tasks that count: tokens, or bits that are 1.
#include <algorithm>
#include <numeric>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/synthetic/synthetic.hpp>

namespace xgrad {

// How often each token occurs.
static Tokens occurrences(const Tokens& ids) {
  Tokens counts;
  for (const std::int32_t id : ids) counts.push_back(std::int32_t(std::ranges::count(ids, id)));
  return counts;
}

extern const std::vector<TaskEntry> kCountingTasks = {
    // Class c means the count c + 1, because each token occurs at least once.
    synthetic_task(
        {.name = "histogram",
         .summary = "For each token, say how often it occurs in the sequence.",
         .options = uniform_options(),
         .needs = "One layer, no positions, and a width of at least the number of symbols.",
         .theory = "solvable: one layer suffices if the width is at least the number of symbols "
                   "(Yehudai et al. 2024, arXiv:2407.15160)",
         .source = "Weiss, Goldberg and Yahav 2021, arXiv:2106.06981; Behrens, Biggio and "
                   "Zdeborova 2024, arXiv:2407.11542"},
        [](const Options& options, Synthetic& task) {
          task = uniform_tokens(options, [](const Tokens& ids) {
            Tokens counts = occurrences(ids);
            for (std::int32_t& count : counts) --count;
            return counts;
          });
          task.shape.class_names = numbered(task.shape.max_length, {}, "", 1);
        }),
    // Class c means the number c + 1, because each symbol occurs as often as itself.
    synthetic_task(
        {.name = "double_histogram",
         .summary = "For each token, count the symbols that occur as often as it does.",
         .options = uniform_options(),
         .needs = "Two layers and no positions: the first counts tokens, the second counts counts.",
         .theory = "needs depth: a count of counts needs the counts of an earlier layer (Weiss "
                   "et al. 2021)",
         .source = "Weiss, Goldberg and Yahav 2021, Thinking Like Transformers, arXiv:2106.06981"},
        [](const Options& options, Synthetic& task) {
          task = uniform_tokens(options, [](const Tokens& ids) {
            const Tokens counts = occurrences(ids);
            Tokens symbols = occurrences(counts);  // tokens of symbols that occur as often as each
            for (std::size_t i = 0; i < ids.size(); ++i) symbols[i] = symbols[i] / counts[i] - 1;
            return symbols;
          });
          const std::size_t most = std::min(task.shape.vocabulary, task.shape.max_length);
          task.shape.class_names = numbered(most, {}, "", 1);
        }),
    synthetic_task(
        {.name = "most_frequent",
         .summary = "Find the most frequent token; ties go to the smallest.",
         .options = uniform_options(),
         .needs = "Two layers and no positions: the first counts, the second compares counts. "
                  "Counts that differ by little are hard.",
         .theory = "needs depth: one layer counts, the next compares counts (Weiss et al. 2021)",
         .source =
             "after the sorting by frequency of Weiss, Goldberg and Yahav 2021, arXiv:2106.06981"},
        [](const Options& options, Synthetic& task) {
          task = one_target(
              uniform_tokens(options, [symbols = get_size(options, "symbols")](const Tokens& ids) {
                Tokens counts(symbols);
                for (const std::int32_t id : ids) ++counts[std::size_t(id)];
                // The first of several maxima.
                return Tokens{std::int32_t(std::ranges::max_element(counts) - counts.begin())};
              }));
        }),
    // A tie means "no".
    bits_task(
        {.name = "majority",
         .summary = "Say whether there are more 1s than 0s.",
         .needs = "No positions, and one layer with one head that attends to all tokens equally.",
         .theory = "solvable: one head that attends to all tokens equally (Merrill, Sabharwal and "
                   "Smith 2022, arXiv:2106.16213)",
         .source = "Merrill, Sabharwal and Smith 2022, arXiv:2106.16213"},
        [](const Tokens& ids) {
          return Tokens{2 * std::count(ids.begin(), ids.end(), 1) > std::ptrdiff_t(ids.size())};
        }),
    // Encoders that are right at any length exist (Chiang and Cholak 2022). Training does not find
    // them, because every single bit flips the answer but reveals nothing on its own.
    bits_task(
        {.name = "parity",
         .summary = "Say whether the number of 1s is odd.",
         .needs = "Positions and two layers can solve it, but training hardly ever finds the "
                  "solution, except at short lengths.",
         .theory = "not learnable: an encoder of two layers exists for all lengths (Chiang and "
                   "Cholak 2022), but its weights are isolated, so training finds it only at short "
                   "lengths (Hahn and Rofin 2024, arXiv:2402.09963)",
         .source = "Hahn 2020, arXiv:1906.06755; Chiang and Cholak 2022, arXiv:2202.12172"},
        [](const Tokens& ids) { return Tokens{std::accumulate(ids.begin(), ids.end(), 0) % 2}; }),
    synthetic_task(
        {.name = "sparse_parity",
         .summary = "Say whether the number of 1s at a few hidden places is odd.",
         .options = {{"length", 16, "Tokens in a sequence.", 1, 65536},
                     {"count", 3, "Number of hidden places.", 1, 65536},
                     {"instance", 1, "Seed that chooses the hidden places.", 0}},
         .needs = "Positions, one layer, and many steps: accuracy jumps after a long time without "
                  "progress.",
         .theory = "needs positions: one layer that attends to the places suffices, and training "
                   "finds it after a long plateau (Barak et al. 2022, arXiv:2207.08799)",
         .source = "Bhattamishra et al. 2023, arXiv:2211.12316"},
        [](const Options& options, Synthetic& task) {
          const std::size_t length = get_size(options, "length"),
                            count = get_size(options, "count");
          check<ConfigError>(count <= length, "count is ", count, ", must be at most length, ",
                             length);
          auto positions =
              (Rng(get_size(options, "instance")) / "sparse_parity").permutation(length);
          positions.resize(count);
          task = uniform_bits(options, [positions, length](const Tokens& ids) {
            check<DataError>(ids.size() == length, "there are ", ids.size(), " tokens, expected ",
                             length);
            std::int32_t parity = 0;
            for (std::size_t at : positions) parity ^= ids[at];
            return Tokens{parity};
          });
        }),
    bits_task(
        {.name = "even_pairs",
         .summary = "Say whether the number of pairs 01 and 10 is even.",
         .needs =
             "Positions and one layer: the number is even if the first and last tokens are equal.",
         .theory = "needs positions: the number of changes is even exactly if the first and last "
                   "tokens are equal; one layer with two heads can compare them",
         .source = "Deletang et al. 2023, arXiv:2207.02098"},
        [](const Tokens& ids) {
          return Tokens{ids.front() == ids.back()};  // each pair changes the bit
        })};

}  // namespace xgrad
