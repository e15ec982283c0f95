// NaiveBayes: predicts the class of a token sequence from the n-gram counts of each class.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <xgrad/data/rules/ngram.hpp>
#include <xgrad/data/task.hpp>

namespace xgrad {

/// A multinomial naive Bayes classifier over n-grams (Manning, Raghavan & Schütze 2008, chapter
/// 13):
///
///     log P(class | x)  =  log P(class)  +  sum over n-grams g of x  of  log P(g | class)  + const
///     P(g | class)      =  (count of g in the class + a) / (n-grams of the class + a V)
///
/// where a is the smoothing and V the number of different n-grams in the training split. n-grams
/// unseen in training are ignored. Each binary answer is predicted on its own, as one of two
/// classes.
class NaiveBayes {
 public:
  /// Counts the n-grams of 1 to `longest` tokens in the training examples, taken in random order,
  /// until a limit is reached, and calls `tell` for each. Requires: token inputs, and a class or
  /// binary answers for each sequence.
  NaiveBayes(
      const Dataset& train, const TaskShape& shape, std::size_t longest, GramLimits limits = {},
      const std::function<void()>& tell = [] {});

  /// The number of training examples whose n-grams were all counted.
  std::size_t rows() const { return rows_; }

  /// Returns the most likely class, or each answer as 0 or 1. Requires: smoothing > 0. Ties go to
  /// the smallest.
  std::vector<std::int32_t> guess(const Example& example, double smoothing) const;

 private:
  std::size_t longest_, choices_;  // choices: slots per decision, of which one is right
  bool answers_;
  std::size_t rows_ = 0;
  // Counts of n-grams with slots: a slot is a class; for binary answers, 2k means "no" and 2k + 1
  // "yes" to answer k.
  GramCounts grams_;
  std::vector<double> totals_, examples_;  // by slot: number of n-grams, of training examples
};

/// Measures NaiveBayes on n-grams of 1 to `longest` tokens. Chooses the smoothing among 1, 0.1,
/// 0.01 and 0.001 by accuracy on the validation split; ties go to the largest. If `limits` stop the
/// counting, the name of the rule says how many rows were counted. Reports each row to
/// WatchProgress. Requires: one class, or binary answers, for each sequence.
Rule naive_bayes(const Task& task, std::size_t longest, GramLimits limits = {});

}  // namespace xgrad
