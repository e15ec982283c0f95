#include <algorithm>

#include <xgrad/data/synthetic/uniform_tokens.hpp>
#include <xgrad/data/tasks/entries.hpp>

namespace xgrad {

// Class c means the count c + 1, because each token occurs at least once.
TaskEntry histogram_task() {
  const auto describe = [](const Options& options) {
    Synthetic task = uniform_tokens(options);
    task.shape.classes = task.shape.max_length;
    for (std::size_t count = 1; count <= task.shape.max_length; ++count) {
      task.shape.class_names.push_back(std::to_string(count));
    }
    task.solve = [](const Tokens& ids) {
      Tokens counts;
      for (std::int32_t id : ids) {
        counts.push_back(std::int32_t(std::count(ids.begin(), ids.end(), id) - 1));
      }
      return counts;
    };
    return task;
  };
  return synthetic_task("histogram", "For each token, say how often it occurs in the sequence.",
                        "No positions, one layer, and a width of at least the number of symbols.",
                        uniform_options(), describe);
}

}  // namespace xgrad
