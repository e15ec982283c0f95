// The theory and source of each task, for `xgrad tasks`.
#pragma once

#include <string>
#include <vector>

namespace xgrad {

/// The theory and source of a task.
struct TaskBackground {
  const char* name;    ///< name of the task
  const char* theory;  ///< what is known of encoders on it: a label of theory_labels(), then why
  const char* source;  ///< the paper or data set that it comes from
  /// The best possible score: kCertain, kComputed, or why it is unknown.
  const char* best;
};

/// The input determines the answer.
inline constexpr const char* kCertain = "accuracy 1, since the input determines the answer";
/// Task::ceiling() computes the best score.
inline constexpr const char* kComputed = "computed from the distribution of the task, see below";

/// The labels that `TaskBackground::theory` starts with, before a colon: "solvable" by one layer
/// without positions, "needs positions", "needs depth" (several layers), "needs positions and
/// depth", "not learnable" (training does not find a solution for all lengths) and "open" (nothing
/// is proven).
const std::vector<std::string>& theory_labels();

/// Returns what is known about a task, or null if it is not one of xgrad's own.
const TaskBackground* background_of(const std::string& name);

}  // namespace xgrad
