#include <algorithm>

#include <xgrad/data/synthetic/uniform_tokens.hpp>
#include <xgrad/data/tasks/entries.hpp>

namespace xgrad {

TaskEntry distinct_task() {
  const auto describe = [](const Options& options) {
    Synthetic task = uniform_tokens(options);
    const auto end = std::int32_t(task.shape.classes);
    for (std::int32_t i = 0; i < end; ++i) task.shape.class_names.push_back(std::to_string(i));
    task.shape.class_names.push_back("end");
    task.shape.output = OutputKind::generated;
    task.shape.max_outputs = std::min(task.shape.max_length, task.shape.classes) + 1;
    task.shape.classes += 1;
    task.solve = [end](const Tokens& ids) {
      Tokens result;
      std::vector<bool> seen(std::size_t(end), false);
      for (std::int32_t id : ids) {
        if (!seen[std::size_t(id)]) result.push_back(id);
        seen[std::size_t(id)] = true;
      }
      result.push_back(end);
      return result;
    };
    return task;
  };
  return synthetic_task("distinct",
                        "Output each different token once, in order of first appearance.",
                        "Positions, and an encoder and a decoder of one layer each, because the "
                        "length of the output is part of the answer.",
                        uniform_options(), describe);
}

}  // namespace xgrad
