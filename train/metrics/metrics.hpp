// Metrics: means over targets, each with its standard error.
#pragma once

#include <string>
#include <vector>

#include <xgrad/train/metrics/estimates.hpp>
#include <xgrad/train/model/objective.hpp>

namespace xgrad {

/// What is reported of a split or a batch. Sums in double, in the order of the samples.
struct Metrics {
  TargetKind target = TargetKind::classes;  ///< of what was added last
  RatioMean loss;      ///< the objective's per target, without smoothing; cross-entropy in nats
  RatioMean accuracy;  ///< of classes and binary targets
  RatioMean exact;     ///< of samples whose targets are all right
  RatioMean absolute;  ///< |y - x|, of numbers
  RatioMean squared;   ///< (y - x)^2, of numbers
  RSquared r2;         ///< of numbers

  /// logits (B, N, V) with targets (B, N), or (B, V) with (B); kIgnore counts nothing.
  template <class T>
  void add(const Tensor<T>& logits, const Ids& targets);
  /// Outputs of any kind with the targets of their batch.
  template <class T>
  void add(const Tensor<T>& outputs, const Batch& batch, const Objective& objective);

  /// What fits the kind of target, the loss first, then the figure to look at: loss, accuracy,
  /// exact_match and, of classes, perplexity, exp(loss); or loss, r2, mae and rmse. Standard errors
  /// of functions of means by the delta method.
  std::vector<Figure> figures() const;

 private:
  template <class T>
  void add_values(const Tensor<T>& outputs, const Batch& batch, const Objective& objective);
};

/// The class of the largest logit of each row; the first of equals. logits (..., V) -> (...).
template <class T>
Ids argmax(const Tensor<T>& logits);

}  // namespace xgrad
