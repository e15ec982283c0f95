#include <xgrad/data/tasks/entries.hpp>
#include <xgrad/data/uniform_tokens.hpp>

namespace xgrad {

TaskEntry copy_task() {
  const auto describe = [](const Options& options) {
    Synthetic task = uniform_tokens(options);
    task.solve = [](const Tokens& ids) { return ids; };
    return task;
  };
  return synthetic_task("copy", "Give each token back.",
                        "Neither positions nor layers: the residual path carries it.",
                        uniform_options(), describe);
}

}  // namespace xgrad
