#include <xgrad/data/synthetic/uniform_tokens.hpp>

namespace xgrad {

TaskEntry reverse_task() {
  const auto describe = [](const Options& options) {
    return uniform_tokens(options,
                          [](const Tokens& ids) { return Tokens(ids.rbegin(), ids.rend()); });
  };
  return synthetic_task(
      {.name = "reverse",
       .summary = "Output the tokens in reverse order.",
       .options = uniform_options(),
       .needs = "Positions and one layer with one head.",
       .theory = "needs positions: one head attends to place n + 1 - i (Weiss et al. 2021)",
       .source = "Weiss, Goldberg and Yahav 2021, arXiv:2106.06981"},
      describe);
}

}  // namespace xgrad
