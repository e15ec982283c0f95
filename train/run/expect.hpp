// Checks of a result against the claims in [expect].
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <xgrad/data/task.hpp>
#include <xgrad/train/config/config.hpp>
#include <xgrad/train/logs/metrics_row.hpp>
#include <xgrad/train/metrics/metrics.hpp>

namespace xgrad {

/// A claim, checked against the result.
struct Verdict {
  std::string claim;  ///< "accuracy >= 0.99"
  std::string found;  ///< "0.9987 +- 0.0003"
  bool holds;         ///< whether the claim is true
};

/// The result of a run.
struct Result {
  std::uint64_t steps = 0;              ///< steps taken
  std::size_t parameters = 0;           ///< number of scalars in all parameters
  Metrics test = {};                    ///< metrics on the test split after the last step
  std::optional<Ceiling> ceiling = {};  ///< best possible on the test split, if the task knows it
  std::vector<Rule> rules = {};         ///< the task's rule baselines on the test split
  /// Best possible on the test split from each token by itself, if the task knows it.
  std::optional<Ceiling> token_ceiling = {};
  std::optional<double> baseline = {};        ///< best_baseline(); above_baseline needs it
  std::optional<std::uint64_t> reached = {};  ///< see first_reached()
};

/// Throws ConfigError if a claim is about a metric that the task does not have or a ceiling that it
/// does not know.
void check_claims(const ExpectConfig& expect, const Task& task);

/// Returns the step of the first validation in a run's rows at which all claims about metrics hold,
/// with the best possible result on the validation split (at_token_ceiling and the baseline: on the
/// test split); nothing if none reaches them. Later validations that miss a claim do not count.
std::optional<std::uint64_t> first_reached(const ExpectConfig& expect,
                                           const std::vector<MetricsRow>& rows, const Task& task,
                                           std::optional<double> baseline = {});

/// Returns one verdict for each key of [expect] that is set, except `seconds`.
std::vector<Verdict> judge(const ExpectConfig& expect, const Result& result);

/// Returns the verdict for the claim that training takes at most `most` seconds.
Verdict judge_seconds(double most, double seconds);

}  // namespace xgrad
