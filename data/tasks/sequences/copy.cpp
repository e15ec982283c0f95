#include <xgrad/data/synthetic/uniform_tokens.hpp>
#include <xgrad/data/tasks/entries.hpp>

namespace xgrad {

TaskEntry copy_task() {
  const auto describe = [](const Options& options) {
    Synthetic task = uniform_tokens(options);
    task.solve = [](const Tokens& ids) { return ids; };
    return task;
  };
  return synthetic_task("copy", "Output each token unchanged.",
                        "Neither positions nor layers: the residual path is enough.",
                        uniform_options(), describe);
}

}  // namespace xgrad
