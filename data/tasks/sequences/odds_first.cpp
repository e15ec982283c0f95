#include <xgrad/data/synthetic/uniform_tokens.hpp>

namespace xgrad {

// x_1 x_3 x_5 ... x_2 x_4 x_6 ..., counted from 1.
static Tokens solve(const Tokens& ids) {
  Tokens result;
  for (const std::size_t first : {0u, 1u}) {
    for (std::size_t i = first; i < ids.size(); i += 2) result.push_back(ids[i]);
  }
  return result;
}

TaskEntry odds_first_task() {
  const auto describe = [](const Options& options) { return uniform_tokens(options, solve); };
  return synthetic_task(
      {.name = "odds_first",
       .summary = "Output the tokens at odd places in order, then those at even places.",
       .options = length_options(16, {symbols_option(2)}),
       .needs = "Positions and one layer with one head; more for several lengths.",
       .theory = "needs positions: one head that attends to one place suffices at a fixed length; "
                 "with variable lengths the place depends on the length",
       .source = "Deletang et al. 2023, arXiv:2207.02098"},
      describe);
}

}  // namespace xgrad
