#include <algorithm>

#include <xgrad/data/tasks/entries.hpp>
#include <xgrad/data/uniform_tokens.hpp>

namespace xgrad {

// Class c is the number c + 1: a symbol occurs as often as itself.
TaskEntry double_histogram_task() {
  const auto describe = [](const Options& options) {
    Synthetic task = uniform_tokens(options);
    task.shape.classes = std::min(task.shape.vocabulary, task.shape.max_length);
    for (std::size_t count = 1; count <= task.shape.classes; ++count) {
      task.shape.class_names.push_back(std::to_string(count));
    }
    task.solve = [vocabulary = task.shape.vocabulary](const Tokens& ids) {
      std::vector<std::size_t> count(vocabulary);  // of a symbol
      Tokens symbols(ids.size() + 1);              // with a count
      for (std::int32_t id : ids) ++count[std::size_t(id)];
      for (const std::size_t n : count) ++symbols[n];
      Tokens targets;
      for (std::int32_t id : ids) targets.push_back(symbols[count[std::size_t(id)]] - 1);
      return targets;
    };
    return task;
  };
  return synthetic_task(
      "double_histogram",
      "Say of each token how many symbols occur as often as it does in the sequence.",
      "No positions: two layers, the first to count tokens, the second to count counts.",
      uniform_options(), describe);
}

}  // namespace xgrad
