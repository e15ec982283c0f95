#include <xgrad/data/task.hpp>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/batch.hpp>

namespace xgrad {

const char* to_string(Split split) {
  constexpr const char* kNames[] = {"train", "validation", "test"};
  check<ShapeError>(std::size_t(split) < std::size(kNames), "Split: there is no split ",
                    int(split));
  return kNames[std::size_t(split)];
}

const char* to_string(TargetKind kind) {
  constexpr const char* kNames[] = {"classes", "numbers", "yes or no"};
  return kNames[std::size_t(kind)];
}

std::size_t Dataset::length(std::size_t index, const TaskShape& shape) const {
  return length_of(get(0, index), shape);
}

void Task::adopt(const std::string&) {
  throw CheckpointError(
      "the checkpoint is of a task that learns from its data; this task does not");
}

std::string Task::token_text(std::int32_t id) const {
  return shape().token_names.at(std::size_t(id));
}

}  // namespace xgrad
