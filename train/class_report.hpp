// ClassReport: what a classifier takes for what.
#pragma once

#include <cstdint>
#include <vector>

#include <xgrad/autograd/tensor.hpp>
#include <xgrad/train/estimates.hpp>

namespace xgrad {

/// A confusion matrix and what follows from it. For class c, with its targets among all, its
/// guesses among all, and what is in both:
///
///     precision = both / guesses, recall = both / targets, F1 = 2 both / (guesses + targets)
///
/// each 0 where it divides by nothing, as scikit-learn's zero_division=0. They are ratios of sums
/// over samples, so RatioMean gives their standard errors.
class ClassReport {
 public:
  /// Of so many classes.
  explicit ClassReport(std::size_t classes);

  /// logits (B, N, V) with targets (B, N), or (B, V) with (B); kIgnore counts nothing.
  template <class T>
  void add(const Tensor<T>& logits, const Ids& targets);

  /// How many there are.
  std::size_t classes() const { return classes_.size(); }
  /// Targets of class `target` that were taken for `guess`.
  std::uint64_t confusion(std::size_t target, std::size_t guess) const;
  /// Of those that were taken for class c, the part that is of it.
  const RatioMean& precision(std::size_t c) const { return classes_[c].precision; }
  /// Of the targets of class c, the part that was found.
  const RatioMean& recall(std::size_t c) const { return classes_[c].recall; }
  /// Of class c.
  const RatioMean& f1(std::size_t c) const { return classes_[c].f1; }
  /// The mean F1 over the classes that occur, as targets or as guesses.
  Figure macro_f1() const;

 private:
  struct Counts {
    std::size_t c = 0;
    double both = 0, guesses = 0, targets = 0;
  };
  struct Class {
    RatioMean precision, recall, f1;
  };
  void end_sample(std::vector<Counts>& counts);

  std::vector<Class> classes_;
  std::vector<std::uint64_t> confusion_;      // (classes, classes): row target, column guess
  std::vector<std::vector<Counts>> samples_;  // of the classes that occur in each
};

}  // namespace xgrad
