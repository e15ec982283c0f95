#include <algorithm>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/synthetic/uniform_tokens.hpp>
#include <xgrad/data/tasks/entries.hpp>

namespace xgrad {

namespace {

Synthetic describe(const Options& options) {
  Synthetic task = uniform_bits(options);
  const std::size_t length = task.shape.max_length, count = std::size_t(get_int(options, "count"));
  check<ConfigError>(count <= length, "count is ", count, ", must be at most length, ", length);
  const auto instance = std::uint64_t(get_int(options, "instance"));
  auto positions = (Rng(instance) / "sparse_parity").permutation(length);
  positions.resize(count);
  task.solve = [positions, length](const Tokens& ids) {
    check<DataError>(ids.size() == length, "there are ", ids.size(), " tokens, expected ", length);
    std::int32_t parity = 0;
    for (std::size_t at : positions) parity ^= ids[at];
    return Tokens{parity};
  };
  return task;
}

}  // namespace

TaskEntry sparse_parity_task() {
  return synthetic_task(
      "sparse_parity", "Say whether the number of 1s at a few hidden places is odd.",
      "Positions, one layer, and many steps: accuracy jumps after a long time without progress.",
      {{"length", 16, "Tokens in a sequence.", 1, 65536},
       {"count", 3, "Number of hidden places.", 1, 65536},
       {"instance", 1, "Seed that chooses the hidden places.", 0}},
      describe);
}

}  // namespace xgrad
