// Metrics: means over targets, each with its standard error.
#pragma once

#include <string>
#include <vector>

#include <xgrad/train/metrics/estimates.hpp>
#include <xgrad/train/model/objective.hpp>

namespace xgrad {

/// Metrics of a split or a batch. Sums are in double, in the order of the samples.
struct Metrics {
  TargetKind target = TargetKind::classes;  ///< kind of the targets added last
  NextToken next = NextToken::none;         ///< TaskShape::next of the targets added last
  RatioMean loss;      ///< loss per target, without label smoothing; cross-entropy in nats
  RatioMean accuracy;  ///< for classes and yes-or-no targets
  RatioMean exact;     ///< fraction of samples with all targets right
  RatioMean absolute;  ///< |y - x|, for numbers
  RatioMean squared;   ///< (y - x)^2, for numbers
  RSquared r2;         ///< for numbers

  /// Adds logits (B, N, V) with targets (B, N), or (B, V) with (B). Targets equal to kIgnore are
  /// skipped.
  template <class T>
  void add(const Tensor<T>& logits, const Ids& targets);
  /// Adds outputs of any kind with the targets of their batch.
  template <class T>
  void add(const Tensor<T>& outputs, const Batch& batch, const Objective& objective);

  /// Adds the samples of other metrics, as those of another part of the same split or batch.
  void add(const Metrics& other);
  /// Calls f(number) for each number, to write or to read it.
  template <class F>
  void visit(const F& f) {
    visit_whole(f, target);
    visit_whole(f, next);
    for (RatioMean* mean : {&loss, &accuracy, &exact, &absolute, &squared}) mean->visit(f);
    r2.visit(f);
  }

  /// Returns the metrics that fit the kind of target, loss first and the most important second.
  /// Classes: loss, accuracy, exact_match and perplexity = exp(loss); for language models also
  /// bits_per_character or bits_per_word = loss / ln 2; yes or no: the first three; numbers: loss,
  /// r2, mae and rmse. Standard errors of functions of means are by the delta method.
  std::vector<Figure> figures() const;

 private:
  template <class T>
  void add_values(const Tensor<T>& outputs, const Batch& batch, const Objective& objective);
};

}  // namespace xgrad
