#include <algorithm>

#include <xgrad/data/synthetic/uniform_tokens.hpp>

namespace xgrad {

TaskEntry most_frequent_task() {
  const auto describe = [](const Options& options) {
    return one_target(
        uniform_tokens(options, [symbols = get_size(options, "symbols")](const Tokens& ids) {
          std::vector<int> counts(symbols);
          for (std::int32_t id : ids) ++counts[std::size_t(id)];
          // The first of several maxima.
          const auto most = std::max_element(counts.begin(), counts.end());
          return Tokens{std::int32_t(most - counts.begin())};
        }));
  };
  return synthetic_task(
      {.name = "most_frequent",
       .summary = "Find the most frequent token; of several, the smallest.",
       .options = uniform_options(),
       .needs = "No positions and two layers, the second to compare counts; close counts are hard.",
       .theory = "needs depth: one layer counts, the next compares counts (Weiss et al. 2021)",
       .source =
           "after the sorting by frequency of Weiss, Goldberg and Yahav 2021, arXiv:2106.06981"},
      describe);
}

}  // namespace xgrad
