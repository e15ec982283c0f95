#include <algorithm>

#include <xgrad/data/tasks/entries.hpp>
#include <xgrad/data/token_task.hpp>

namespace xgrad {

// Ascending by id, a repeated id as often as it came: equal tokens cannot be told apart, so the
// answer is unique.
TaskEntry sort_task() {
  return token_task("sort", "Give the tokens back in ascending order.",
                    [](const std::vector<std::int32_t>& ids) {
                      auto sorted = ids;
                      std::sort(sorted.begin(), sorted.end());
                      return sorted;
                    });
}

}  // namespace xgrad
