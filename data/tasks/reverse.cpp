#include <xgrad/data/tasks/entries.hpp>
#include <xgrad/data/token_task.hpp>

namespace xgrad {

TaskEntry reverse_task() {
  return token_task("reverse", "Give the tokens back in reverse order.",
                    [](const std::vector<std::int32_t>& ids) {
                      return std::vector<std::int32_t>(ids.rbegin(), ids.rend());
                    });
}

}  // namespace xgrad
