// What can be had without a model.
#pragma once

#include <optional>

#include <xgrad/data/task.hpp>

namespace xgrad {

/// Accuracies on the validation split of rules fitted to the training split: their first 10,000
/// examples each.
struct Baseline {
  double majority = 0;                   ///< always the most frequent class
  std::optional<double> own_token = {};  ///< what goes best with a token, whatever its context; of
                                         ///< tasks with a class for each token
};

/// Throws DataError when the task's files are missing.
Baseline measure_baseline(const Task& task);

}  // namespace xgrad
