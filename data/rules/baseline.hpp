// Baselines: scores that need no model, and rules fitted by counting, which a trained model must
// beat.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include <xgrad/data/task.hpp>

namespace xgrad {

/// Predicts all targets of an example; binary answers are 1 for yes and 0 for no.
using Guess = std::function<std::vector<std::int32_t>(const Example& example)>;

/// Measures a rule on `test`: the fraction of targets that the rule predicts correctly, and the
/// fraction of examples with all targets correct. Positions without a label do not count.
Rule measure_rule(const std::string& name, const Dataset& test, const Guess& guess);

/// Measures the window rule. A window is a token with `radius` tokens on each side. The rule
/// predicts the class that is most frequent for this window in `train`. If `train` lacks the
/// window, the rule uses the next smaller window. Requires: a class for each token.
Rule window_rule(const std::string& name, const Dataset& train, const Dataset& test,
                 std::size_t radius);

/// The largest radius that `Baseline::window` tries.
inline constexpr std::size_t kBaselineRadius = 2;

/// Test accuracies of rules fitted by counting training examples. `own_token` and `window` exist
/// only for token inputs with a class for each token. Language models have no `window`.
struct Baseline {
  std::optional<double> majority = {};   ///< the most frequent class, or answer for each label
  std::optional<double> own_token = {};  ///< the most frequent class of the token
  /// The most frequent class of the token with its neighbours on each side, as in window_rule().
  /// The radius, at most kBaselineRadius, is the radius with the best accuracy on the validation
  /// split.
  std::optional<double> window = {};
};

/// Measures the baselines, fitted on the first `most` training examples. Empty for numeric targets.
/// Throws DataError when files of the task are missing.
Baseline measure_baseline(const Task& task,
                          std::size_t most = std::numeric_limits<std::size_t>::max());

/// The best accuracy on the test split among `rules`, which task.rules() returned, and the
/// baselines of measure_baseline(). Requires: targets that are not numbers. Throws DataError when
/// files of the task are missing.
double best_baseline(const Task& task, const std::vector<Rule>& rules);

/// The mean squared error on the test split of always predicting the means of the training split.
/// Requires: numeric targets.
double measure_variance(const Task& task);

}  // namespace xgrad
