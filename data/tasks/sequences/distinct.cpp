#include <algorithm>

#include <xgrad/data/synthetic/uniform_tokens.hpp>

namespace xgrad {

static Synthetic describe(const Options& options) {
  const auto end = std::int32_t(get_int(options, "symbols"));
  Synthetic task = uniform_tokens(options, [end](const Tokens& ids) {
    Tokens result;
    std::vector<bool> seen(std::size_t(end), false);
    for (std::int32_t id : ids) {
      if (!seen[std::size_t(id)]) result.push_back(id);
      seen[std::size_t(id)] = true;
    }
    result.push_back(end);
    return result;
  });
  task.shape.output = OutputKind::generated;
  task.shape.max_outputs = std::min(task.shape.max_length, task.shape.classes) + 1;
  task.shape.class_names = numbered(task.shape.classes);
  task.shape.class_names.push_back("end");
  task.shape.classes += 1;
  return task;
}

TaskEntry distinct_task() {
  return synthetic_task(
      {.name = "distinct",
       .summary = "Output each different token once, in order of first appearance.",
       .options = uniform_options(),
       .needs = "Positions, and an encoder and a decoder of one layer each, because the length of "
                "the output is part of the answer.",
       .theory =
           "needs positions: the decoder looks for the first token that it has not written yet",
       .source = "made for xgrad"},
      describe);
}

}  // namespace xgrad
