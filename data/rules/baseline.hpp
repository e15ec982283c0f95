// What can be had without a model.
#pragma once

#include <limits>
#include <optional>

#include <xgrad/data/task.hpp>

namespace xgrad {

/// Tokens to each side that `Baseline::window` reads at most.
inline constexpr std::size_t kBaselineRadius = 2;

/// Accuracies on the test split of rules fitted by counting training examples; the last two of
/// tasks with tokens and a class for each.
struct Baseline {
  std::optional<double> majority = {};   ///< always the most frequent class, or answer to each
  std::optional<double> own_token = {};  ///< what goes best with a token, whatever its context
  /// What goes best with a token and those next to it, up to kBaselineRadius to each side: of these
  /// widths the best on the validation split. Each takes fewer where it has not seen so many.
  std::optional<double> window = {};
};

/// Counts the first `most` training examples. Nothing where targets are numbers. Throws DataError
/// when the task's files are missing.
Baseline measure_baseline(const Task& task,
                          std::size_t most = std::numeric_limits<std::size_t>::max());

/// The mean square error on the test split of always saying the means of the training split.
/// Requires: targets that are numbers.
double measure_variance(const Task& task);

}  // namespace xgrad
