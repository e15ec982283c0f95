// Baselines: scores that need no model.
#pragma once

#include <limits>
#include <optional>
#include <vector>

#include <xgrad/data/task.hpp>

namespace xgrad {

/// The largest radius that `Baseline::window` tries.
inline constexpr std::size_t kBaselineRadius = 2;

/// Test accuracies of rules fitted by counting training examples. `own_token` and `window` exist
/// only for token inputs with a class for each token; `window` not for language models.
struct Baseline {
  std::optional<double> majority = {};   ///< the most frequent class or answer overall
  std::optional<double> own_token = {};  ///< the most frequent class of the token
  /// The most frequent class of the token with its neighbours on each side. Their number, up to
  /// kBaselineRadius, is the best on the validation split. Unseen windows fall back to smaller
  /// ones.
  std::optional<double> window = {};
};

/// Measures the baselines, counting the first `most` training examples. Empty for numeric targets.
/// Throws DataError when files of the task are missing.
Baseline measure_baseline(const Task& task,
                          std::size_t most = std::numeric_limits<std::size_t>::max());

/// The accuracy on the test split of the best baseline: one of the task's rules, as task.rules()
/// returns them, or one of measure_baseline(). Requires: targets that are not numbers. Throws
/// DataError when files of the task are missing.
double best_baseline(const Task& task, const std::vector<Rule>& rules);

/// The mean squared error on the test split of always predicting the means of the training split.
/// Requires: numeric targets.
double measure_variance(const Task& task);

}  // namespace xgrad
