// What can be had without a model.
#pragma once

#include <optional>

#include <xgrad/data/task.hpp>

namespace xgrad {

/// Accuracies on the validation split of rules fitted to the training split: their first 10,000
/// examples each.
struct Baseline {
  std::optional<double> majority = {};   ///< always the most frequent class, or answer to each
  std::optional<double> own_token = {};  ///< what goes best with a token, whatever its context; of
                                         ///< tasks with a class for each token
};

/// Nothing where targets are numbers. Throws DataError when the task's files are missing.
Baseline measure_baseline(const Task& task);

/// The mean square error on the validation split of always saying the means of the training split.
/// Requires: targets that are numbers.
double measure_variance(const Task& task);

}  // namespace xgrad
