#include <xgrad/data/synthetic/uniform_tokens.hpp>
#include <xgrad/data/tasks/entries.hpp>

namespace xgrad {

// The FIRST language of Chiang and Cholak (2022): easy at the lengths seen in training, hard at
// greater ones.
TaskEntry first_task() {
  const auto describe = [](const Options& options) {
    Synthetic task = uniform_tokens(options);
    task.shape.output = OutputKind::sequence;
    task.solve = [](const Tokens& ids) { return Tokens{ids.front()}; };
    return task;
  };
  return synthetic_task("first", "Output the first token of the sequence.",
                        "Positions and one layer with one head.", uniform_options(), describe);
}

}  // namespace xgrad
