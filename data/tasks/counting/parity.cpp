#include <numeric>

#include <xgrad/data/synthetic/uniform_tokens.hpp>

namespace xgrad {

static Tokens solve(const Tokens& ids) {
  return {std::accumulate(ids.begin(), ids.end(), 0) % 2};
}

// Encoders that are right at any length exist (Chiang and Cholak 2022). Training does not find
// them, because every single bit flips the answer but reveals nothing on its own.
TaskEntry parity_task() {
  const auto describe = [](const Options& options) { return uniform_bits(options, solve); };
  return synthetic_task(
      {.name = "parity",
       .summary = "Say whether the number of 1s is odd.",
       .options = length_options(),
       .needs = "Positions and two layers can solve it, but training hardly ever finds the "
                "solution, except at short lengths.",
       .theory = "not learnable: an encoder of two layers exists for all lengths (Chiang and "
                 "Cholak 2022), but its weights are isolated, so training finds it only at short "
                 "lengths (Hahn and Rofin 2024, arXiv:2402.09963)",
       .source = "Hahn 2020, arXiv:1906.06755; Chiang and Cholak 2022, arXiv:2202.12172"},
      describe);
}

}  // namespace xgrad
