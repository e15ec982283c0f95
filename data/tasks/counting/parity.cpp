#include <numeric>

#include <xgrad/data/synthetic/uniform_tokens.hpp>
#include <xgrad/data/tasks/entries.hpp>

namespace xgrad {

// Encoders that are right at any length exist (Chiang and Cholak 2022). Training does not find
// them, because every single bit flips the answer but reveals nothing on its own.
TaskEntry parity_task() {
  const auto describe = [](const Options& options) {
    Synthetic task = uniform_bits(options);
    task.solve = [](const Tokens& ids) {
      return Tokens{std::accumulate(ids.begin(), ids.end(), 0) % 2};
    };
    return task;
  };
  return synthetic_task("parity", "Say whether the number of 1s is odd.",
                        "Positions and two layers can solve it, but training hardly ever finds the "
                        "solution, except at short lengths.",
                        length_options(), describe);
}

}  // namespace xgrad
