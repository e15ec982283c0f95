#include <algorithm>

#include <xgrad/data/synthetic/uniform_tokens.hpp>
#include <xgrad/data/tasks/entries.hpp>

namespace xgrad {

// Ascending by id, keeping repeated ids. Equal tokens cannot be told apart, so the answer is
// unique.
TaskEntry sort_task() {
  const auto describe = [](const Options& options) {
    Synthetic task = uniform_tokens(options);
    task.solve = [](Tokens ids) {
      std::sort(ids.begin(), ids.end());
      return ids;
    };
    return task;
  };
  return synthetic_task("sort", "Output the tokens in ascending order.",
                        "Positions and two layers: the first counts, the second places.",
                        uniform_options(), describe);
}

}  // namespace xgrad
