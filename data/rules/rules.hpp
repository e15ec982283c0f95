// Rules that are fitted by counting, which a trained model must beat.
#pragma once

#include <functional>

#include <xgrad/data/task.hpp>

namespace xgrad {

/// The class that a rule says the target at a place of an example has.
using Guess = std::function<std::int32_t(const Example& example, std::size_t place)>;
/// The same of all targets of an example; of answers 1 for yes and 0 for no.
using GuessAll = std::function<std::vector<std::int32_t>(const Example& example)>;

/// How many of the targets that count a rule guesses, and of how many examples all.
Rule measure_rule(const std::string& name, const Dataset& test, const Guess& guess);
/// The same with a rule that guesses all targets of an example at once.
Rule measure_rule(const std::string& name, const Dataset& test, const GuessAll& guess);

/// A class for each token: what WindowCounts of the training examples guess from the token and
/// `radius` tokens to each side.
Rule window_rule(const std::string& name, const Dataset& train, const Dataset& test,
                 std::size_t radius);

/// Classes or answers for the sequence: NaiveBayes of n-grams of 1 to `longest` tokens, with the
/// smoothing of 1, 0.1, 0.01 and 0.001 that is best on the validation split, of equals the largest.
Rule naive_bayes(const Task& task, std::size_t longest);

}  // namespace xgrad
