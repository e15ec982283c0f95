// NaiveBayes: predicts the class of a token sequence from the n-gram counts of each class.
#pragma once

#include <cstdint>
#include <vector>

#include <xgrad/data/rules/gram_counts.hpp>
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
  /// until a limit is reached. Requires: token inputs, and a class or binary answers for each
  /// sequence.
  NaiveBayes(const Dataset& train, const TaskShape& shape, std::size_t longest,
             GramLimits limits = {});

  /// The number of training examples whose n-grams were all counted.
  std::size_t rows() const { return rows_; }

  /// Returns the most likely class, or each answer as 0 or 1. Requires: smoothing > 0. Ties go to
  /// the smallest.
  std::vector<std::int32_t> guess(const Example& example, double smoothing) const;

 private:
  template <class Child, class Visit>
  void visit(const Example& example, const Child& child, const Visit& visit) const;
  template <class F>
  void for_each_slot(const Example& example, const F& f) const;

  std::size_t longest_, choices_;  // choices: slots per decision, of which one is right
  bool answers_;
  std::size_t rows_ = 0;
  // Counts of n-grams with slots: a slot is a class; for binary answers, 2k means "no" and 2k + 1
  // "yes" to answer k.
  GramCounts grams_;
  std::vector<double> totals_, examples_;  // by slot: number of n-grams, of training examples
};

}  // namespace xgrad
