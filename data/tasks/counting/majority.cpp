#include <algorithm>

#include <xgrad/data/synthetic/uniform_tokens.hpp>
#include <xgrad/data/tasks/entries.hpp>

namespace xgrad {

// A tie means "no".
TaskEntry majority_task() {
  const auto describe = [](const Options& options) {
    Synthetic task = uniform_bits(options);
    task.solve = [](const Tokens& ids) {
      return Tokens{2 * std::count(ids.begin(), ids.end(), 1) > std::ptrdiff_t(ids.size())};
    };
    return task;
  };
  return synthetic_task(
      "majority", "Say whether there are more 1s than 0s.",
      "No positions, and one layer with one head that attends to all tokens equally.",
      length_options(), describe);
}

}  // namespace xgrad
