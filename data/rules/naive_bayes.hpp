// NaiveBayes: predicts the class of a token sequence from the n-gram counts of each class.
#pragma once

#include <cstdint>
#include <vector>

#include <xgrad/data/rules/key_index.hpp>
#include <xgrad/data/task.hpp>

namespace xgrad {

/// Limits at which counting n-grams stops.
struct GramLimits {
  /// Occurrences of n-grams; each counts once per answer of its example.
  std::size_t counted = std::size_t(1) << 24;
  /// Distinct n-grams, and distinct pairs of an n-gram and a class or answer, each up to this
  /// limit. At the default limit they take about 200 MB together.
  std::size_t different = std::size_t(1) << 22;
};

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
  struct Count {
    /// class; for binary answers, 2k means "no" and 2k + 1 "yes" to answer k
    std::uint32_t slot = 0;
    std::uint32_t count = 0;
  };

  template <class Child, class Visit>
  void visit(const Example& example, const Child& child, const Visit& visit) const;
  template <class F>
  void for_each_slot(const Example& example, const F& f) const;
  void sort(const KeyIndex& pairs, const std::vector<std::uint32_t>& counts);

  std::size_t longest_, choices_;  // choices: slots per decision, of which one is right
  bool answers_;
  std::size_t rows_ = 0;
  // Trie of n-grams: the key of an n-gram is the number of its prefix, and its last token.
  KeyIndex trie_;
  // (grams + 1): where the counts of each n-gram begin in counts_
  std::vector<std::uint32_t> begins_;
  std::vector<Count> counts_;
  std::vector<double> totals_, examples_;  // by slot: number of n-grams, of training examples
};

}  // namespace xgrad
