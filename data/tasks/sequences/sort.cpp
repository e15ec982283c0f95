#include <algorithm>

#include <xgrad/data/synthetic/uniform_tokens.hpp>

namespace xgrad {

// Ascending by id, keeping repeated ids. Equal tokens cannot be told apart, so the answer is
// unique.
static Synthetic describe(const Options& options) {
  return uniform_tokens(options, [](Tokens ids) {
    std::sort(ids.begin(), ids.end());
    return ids;
  });
}

static constexpr const char* kNeeds =
    "Positions and two layers: the first counts, the second places.";

TaskEntry sort_task() {
  return synthetic_task({.name = "sort",
                         .summary = "Output the tokens in ascending order.",
                         .options = uniform_options(),
                         .needs = kNeeds,
                         .theory = "needs positions and depth: the first layer counts smaller "
                                   "tokens, the second places them (Weiss et al. 2021)",
                         .source = "Weiss, Goldberg and Yahav 2021, arXiv:2106.06981"},
                        describe);
}

// The same task with the sizes of Deletang et al. 2023: five symbols, and any length up to 40.
TaskEntry bucket_sort_task() {
  auto options = length_options(40, {symbols_option(5)});
  options[1].fallback = std::int64_t(1);
  return synthetic_task(
      {.name = "bucket_sort",
       .summary = "Sort sequences of many lengths over few symbols.",
       .options = std::move(options),
       .needs = kNeeds,
       .theory = "needs positions and depth: the first layer counts smaller tokens, the second "
                 "places them; out of length Deletang et al. measured 0.919",
       .source =
           "Deletang et al. 2023, Neural Networks and the Chomsky Hierarchy, arXiv:2207.02098"},
      describe);
}

}  // namespace xgrad
