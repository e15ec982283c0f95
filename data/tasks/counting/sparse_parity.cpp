#include <xgrad/autograd/check.hpp>
#include <xgrad/data/synthetic/uniform_tokens.hpp>

namespace xgrad {

static Synthetic describe(const Options& options) {
  const std::size_t length = get_size(options, "length"), count = get_size(options, "count");
  check<ConfigError>(count <= length, "count is ", count, ", must be at most length, ", length);
  auto positions = (Rng(get_size(options, "instance")) / "sparse_parity").permutation(length);
  positions.resize(count);
  return uniform_bits(options, [positions, length](const Tokens& ids) {
    check<DataError>(ids.size() == length, "there are ", ids.size(), " tokens, expected ", length);
    std::int32_t parity = 0;
    for (std::size_t at : positions) parity ^= ids[at];
    return Tokens{parity};
  });
}

TaskEntry sparse_parity_task() {
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

}  // namespace xgrad
