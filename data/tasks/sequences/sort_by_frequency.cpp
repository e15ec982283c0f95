#include <algorithm>

#include <xgrad/data/synthetic/uniform_tokens.hpp>

namespace xgrad {

static Tokens solve(const Tokens& ids, std::int32_t symbols) {
  Tokens result, counts(std::size_t(symbols) + 1);
  for (const std::int32_t id : ids) {
    if (counts[std::size_t(id)]++ == 0) result.push_back(id);
  }
  std::stable_sort(result.begin(), result.end(), [&](std::int32_t a, std::int32_t b) {
    return counts[std::size_t(a)] > counts[std::size_t(b)];
  });
  result.resize(ids.size(), symbols);
  return result;
}

// As in RASP (Weiss et al. 2021): the outputs that are left over are "-".
TaskEntry sort_by_frequency_task() {
  const auto describe = [](const Options& options) {
    const auto symbols = std::int32_t(get_int(options, "symbols"));
    Synthetic task =
        uniform_tokens(options, [symbols](const Tokens& ids) { return solve(ids, symbols); });
    task.shape.class_names = numbered(task.shape.classes);
    task.shape.class_names.push_back("-");
    task.shape.classes += 1;
    return task;
  };
  return synthetic_task(
      {.name = "sort_by_frequency",
       .summary = "Output each different token once, the most frequent first; ties in order of "
                  "appearance.",
       .options = length_options(16, {symbols_option(10, 1, 65536)}),  // every class has a name
       .needs =
           "Positions and three layers: to count, to compare the counts, and to place the tokens.",
       .theory = "needs positions and depth: count, compare the counts, place (Weiss et al. 2021, "
                 "with three layers)",
       .source = "Weiss, Goldberg and Yahav 2021, arXiv:2106.06981"},
      describe);
}

}  // namespace xgrad
