#include <algorithm>

#include <xgrad/data/synthetic/uniform_tokens.hpp>
#include <xgrad/data/tasks/entries.hpp>

namespace xgrad {

// Class c means the number c + 1, because each symbol occurs as often as itself.
TaskEntry double_histogram_task() {
  const auto describe = [](const Options& options) {
    Synthetic task = uniform_tokens(options);
    task.shape.classes = std::min(task.shape.vocabulary, task.shape.max_length);
    for (std::size_t count = 1; count <= task.shape.classes; ++count) {
      task.shape.class_names.push_back(std::to_string(count));
    }
    task.solve = [](const Tokens& ids) {
      Tokens sorted = ids, symbols(ids.size() + 1);  // symbols[c]: how many symbols occur c times
      std::sort(sorted.begin(), sorted.end());
      for (auto run = sorted.begin(); run != sorted.end();) {
        const auto end = std::upper_bound(run, sorted.end(), *run);
        ++symbols[std::size_t(end - run)];
        run = end;
      }
      Tokens targets;
      for (const std::int32_t id : ids) {
        const auto [begin, end] = std::equal_range(sorted.begin(), sorted.end(), id);
        targets.push_back(symbols[std::size_t(end - begin)] - 1);
      }
      return targets;
    };
    return task;
  };
  return synthetic_task(
      "double_histogram", "For each token, count the symbols that occur as often as it does.",
      "No positions and two layers: the first counts tokens, the second counts counts.",
      uniform_options(), describe);
}

}  // namespace xgrad
