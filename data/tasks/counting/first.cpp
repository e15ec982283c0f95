#include <xgrad/data/synthetic/uniform_tokens.hpp>

namespace xgrad {

// The FIRST language of Chiang and Cholak (2022): easy at the lengths seen in training, hard at
// greater ones.
TaskEntry first_task() {
  const auto describe = [](const Options& options) {
    return one_target(
        uniform_tokens(options, [](const Tokens& ids) { return Tokens{ids.front()}; }));
  };
  return synthetic_task(
      {.name = "first",
       .summary = "Output the first token of the sequence.",
       .options = uniform_options(),
       .needs = "Positions and one layer with one head.",
       .theory =
           "needs positions: one head that attends to the first place suffices, but its weight "
           "fades with the length unless scores grow with log n (Chiang and Cholak 2022)",
       .source = "Chiang and Cholak 2022, arXiv:2202.12172"},
      describe);
}

}  // namespace xgrad
