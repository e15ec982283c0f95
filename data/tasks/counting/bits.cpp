#include <algorithm>
#include <numeric>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/synthetic/uniform_tokens.hpp>

namespace xgrad {

// A tie means "no".
TaskEntry majority_task() {
  const auto describe = [](const Options& options) {
    return uniform_bits(options, [](const Tokens& ids) {
      return Tokens{2 * std::count(ids.begin(), ids.end(), 1) > std::ptrdiff_t(ids.size())};
    });
  };
  return synthetic_task(
      {.name = "majority",
       .summary = "Say whether there are more 1s than 0s.",
       .options = length_options(),
       .needs = "No positions, and one layer with one head that attends to all tokens equally.",
       .theory = "solvable: one head that attends to all tokens equally (Merrill, Sabharwal and "
                 "Smith 2022, arXiv:2106.16213)",
       .source = "Merrill, Sabharwal and Smith 2022, arXiv:2106.16213"},
      describe);
}

// Encoders that are right at any length exist (Chiang and Cholak 2022). Training does not find
// them, because every single bit flips the answer but reveals nothing on its own.
TaskEntry parity_task() {
  const auto describe = [](const Options& options) {
    return uniform_bits(options, [](const Tokens& ids) {
      return Tokens{std::accumulate(ids.begin(), ids.end(), 0) % 2};
    });
  };
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

TaskEntry sparse_parity_task() {
  const auto describe = [](const Options& options) {
    const std::size_t length = get_size(options, "length"), count = get_size(options, "count");
    check<ConfigError>(count <= length, "count is ", count, ", must be at most length, ", length);
    auto positions = (Rng(get_size(options, "instance")) / "sparse_parity").permutation(length);
    positions.resize(count);
    return uniform_bits(options, [positions, length](const Tokens& ids) {
      check<DataError>(ids.size() == length, "there are ", ids.size(), " tokens, expected ",
                       length);
      std::int32_t parity = 0;
      for (std::size_t at : positions) parity ^= ids[at];
      return Tokens{parity};
    });
  };
  return synthetic_task(
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
      describe);
}

TaskEntry even_pairs_task() {
  const auto describe = [](const Options& options) {
    return uniform_bits(options, [](const Tokens& ids) {
      return Tokens{ids.front() == ids.back()};  // each pair changes the bit
    });
  };
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
