#include <xgrad/data/synthetic/uniform_tokens.hpp>
#include <xgrad/data/tasks/entries.hpp>

namespace xgrad {

TaskEntry reverse_task() {
  const auto describe = [](const Options& options) {
    Synthetic task = uniform_tokens(options);
    task.solve = [](const Tokens& ids) { return Tokens(ids.rbegin(), ids.rend()); };
    return task;
  };
  return synthetic_task("reverse", "Output the tokens in reverse order.",
                        "Positions and one layer with one head.", uniform_options(), describe);
}

}  // namespace xgrad
