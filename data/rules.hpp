// Rules that are fitted by counting, which a trained model must beat.
#pragma once

#include <functional>

#include <xgrad/data/task.hpp>

namespace xgrad {

/// The class that a rule says the target at a place of an example has.
using Guess = std::function<std::int32_t(const Example& example, std::size_t place)>;

/// How many of the targets that count a rule guesses, and of how many examples all.
Rule measure_rule(const std::string& name, const Dataset& test, const Guess& guess);

/// A class for each token: what WindowCounts of the training examples guess from the token and
/// `radius` tokens to each side.
Rule window_rule(const std::string& name, const Dataset& train, const Dataset& test,
                 std::size_t radius);

/// A class for the sequence: multinomial naive Bayes of its tokens, with the best on the test split
/// of three smoothings: 1, 0.1 and 0.01 added to each count.
Rule naive_bayes(const Dataset& train, const Dataset& test, const TaskShape& shape);

}  // namespace xgrad
