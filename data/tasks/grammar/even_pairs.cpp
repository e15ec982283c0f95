#include <xgrad/data/synthetic/uniform_tokens.hpp>

namespace xgrad {

static Tokens solve(const Tokens& ids) {
  std::size_t changes = 0;
  for (std::size_t i = 1; i < ids.size(); ++i) changes += ids[i] != ids[i - 1];
  return {changes % 2 == 0};
}

TaskEntry even_pairs_task() {
  const auto describe = [](const Options& options) { return uniform_bits(options, solve); };
  return synthetic_task(
      {.name = "even_pairs",
       .summary = "Say whether the number of pairs 01 and 10 is even.",
       .options = length_options(),
       .needs = "Positions and one layer: it is even if the first and last token are equal.",
       .theory = "needs positions: the number of changes is even exactly if the first and last "
                 "tokens are equal, which one layer with two heads compares",
       .source = "Deletang et al. 2023, arXiv:2207.02098"},
      describe);
}

}  // namespace xgrad
