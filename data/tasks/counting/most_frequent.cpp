#include <algorithm>

#include <xgrad/data/synthetic/uniform_tokens.hpp>
#include <xgrad/data/tasks/entries.hpp>

namespace xgrad {

TaskEntry most_frequent_task() {
  const auto describe = [](const Options& options) {
    Synthetic task = uniform_tokens(options);
    task.shape.output = OutputKind::sequence;
    task.solve = [symbols = task.shape.vocabulary](const Tokens& ids) {
      std::vector<int> counts(symbols);
      for (std::int32_t id : ids) ++counts[std::size_t(id)];
      // The first of several maxima.
      const auto most = std::max_element(counts.begin(), counts.end());
      return Tokens{std::int32_t(most - counts.begin())};
    };
    return task;
  };
  return synthetic_task(
      "most_frequent", "Find the most frequent token; of several, the smallest.",
      "No positions and two layers, the second to compare counts; close counts are hard.",
      uniform_options(), describe);
}

}  // namespace xgrad
