// NaiveBayes: tells the class of a sequence of tokens from how often its n-grams come in each.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include <xgrad/data/task.hpp>

namespace xgrad {

/// Multinomial naive Bayes over n-grams (Manning, Raghavan & Schütze 2008, chapter 13):
///
///     log P(class | x)  =  log P(class)  +  sum over n-grams g of x  of  log P(g | class)  + const
///     P(g | class)      =  (count of g in the class + a) / (n-grams of the class + a V)
///
/// where a is the smoothing and V the number of different n-grams in the training split; n-grams
/// that it does not have are left out. Where a target is any number of answers, each is told by
/// itself, as one of two classes.
class NaiveBayes {
 public:
  /// Counts the n-grams of 1 to `longest` tokens in the training examples, up to about `most` of
  /// them so that memory is bounded: 8 bytes each, and 50 for each different one. Requires: tokens
  /// as inputs, and a class or answers for each sequence.
  NaiveBayes(const Dataset& train, const TaskShape& shape, std::size_t longest,
             std::size_t most = std::size_t(1) << 24);

  /// The most likely class, or each answer as 0 or 1, with `smoothing` > 0. Of equals the smallest.
  std::vector<std::int32_t> guess(const Example& example, double smoothing) const;

 private:
  struct Count {
    std::uint32_t slot = 0;  ///< a class; of answers, 2k is "no" and 2k + 1 "yes" to answer k
    std::uint32_t count = 0;
  };
  // An n-gram by the number of the one without its last token, and that token: a trie in one table.
  using Trie = std::unordered_map<std::uint64_t, std::uint32_t>;

  template <class Child, class Visit>
  void visit(const Example& example, const Child& child, const Visit& visit) const;
  template <class F>
  void for_each_slot(const Example& example, const F& f) const;
  void count(std::vector<std::uint64_t>& seen);

  std::size_t longest_, choices_;  // choices: slots of which one is right
  bool answers_;
  Trie trie_;                        // to the number of an n-gram
  std::vector<std::size_t> begins_;  // (grams + 1): where the counts of an n-gram begin
  std::vector<Count> counts_;
  std::vector<double> totals_, examples_;  // by slot: n-grams, training examples
};

}  // namespace xgrad
