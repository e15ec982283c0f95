// Rules fitted by counting: baselines that a trained model must beat.
#pragma once

#include <functional>

#include <xgrad/data/rules/gram_counts.hpp>
#include <xgrad/data/task.hpp>

namespace xgrad {

/// Predicts the class of the target at a position of an example.
using Guess = std::function<std::int32_t(const Example& example, std::size_t place)>;
/// Predicts all targets of an example; binary answers are 1 for yes and 0 for no.
using GuessAll = std::function<std::vector<std::int32_t>(const Example& example)>;

/// Measures a rule: the fraction of right targets, and of examples with all targets right. Targets
/// without a label do not count.
Rule measure_rule(const std::string& name, const Dataset& test, const Guess& guess);
/// Measures a rule that predicts all targets of an example at once.
Rule measure_rule(const std::string& name, const Dataset& test, const GuessAll& guess);

/// Measures WindowCounts with `radius` tokens on each side, fitted to the training examples.
/// Requires: a class for each token.
Rule window_rule(const std::string& name, const Dataset& train, const Dataset& test,
                 std::size_t radius);

/// Measures NaiveBayes on n-grams of 1 to `longest` tokens. Chooses the smoothing among 1, 0.1,
/// 0.01 and 0.001 by accuracy on the validation split; ties go to the largest. If `limits` stop the
/// counting, the name of the rule says how many rows were counted. Reports each row to
/// WatchProgress. Requires: one class, or binary answers, for each sequence.
Rule naive_bayes(const Task& task, std::size_t longest, GramLimits limits = {});

}  // namespace xgrad
