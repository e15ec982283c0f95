// ClassReport: what a classifier takes for what.
#pragma once

#include <cstdint>
#include <vector>

#include <xgrad/autograd/tensor.hpp>
#include <xgrad/data/batch.hpp>
#include <xgrad/train/metrics/estimates.hpp>

namespace xgrad {

/// A confusion matrix and what follows from it, or what is right and wrong in yes-or-no answers.
/// For class c, with its targets among all, its guesses among all, and what is in both (of an
/// answer, where the target, the guess and both are yes):
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

  /// Outputs (..., K) with the yes-or-no values of their batch.
  template <class T>
  void add_answers(const Tensor<T>& outputs, const Batch& batch);

  /// How many there are.
  std::size_t classes() const { return classes_.size(); }
  /// Whether there is a confusion matrix: not of answers.
  bool has_confusion() const { return !confusion_.empty(); }
  /// Targets of class `target` that were taken for `guess`. Requires: has_confusion().
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
  using Sample = std::vector<Counts>;  // of the classes that occur
  struct Class {
    RatioMean precision, recall, f1;
  };
  static void count(Sample& sample, std::size_t c, bool target, bool guess);
  void end_sample(Sample& sample);

  std::vector<Class> classes_;
  std::vector<std::uint64_t> confusion_ = {};  // (classes, classes): row target, column guess
  std::vector<Sample> samples_ = {};
};

}  // namespace xgrad
