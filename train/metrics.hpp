// Metrics: means over targets, each with its standard error.
#pragma once

#include <xgrad/autograd/tensor.hpp>

namespace xgrad {

/// A mean over targets whose samples are independent but whose targets within a sample are not: sum
/// x / sum n.
///
/// The standard error is that of a ratio estimator over samples: with r the ratio and S samples,
/// sqrt(S / (S - 1) sum (x - r n)^2) / sum n (Cochran 1977, 6.4); 0 for fewer than two samples.
class RatioMean {
 public:
  /// One sample: the sum of its values and the number of its targets.
  void add(double x, double n);

  double mean() const;
  double standard_error() const;
  /// Targets so far.
  double count() const { return n_; }

 private:
  double samples_ = 0, x_ = 0, n_ = 0, xx_ = 0, xn_ = 0, nn_ = 0;
};

/// What is reported of a split or a batch. Sums in double, in the order of the samples.
struct Metrics {
  RatioMean loss;      ///< cross-entropy, nats per target
  RatioMean accuracy;  ///< of targets
  RatioMean exact;     ///< of samples whose targets are all right

  /// logits (B, N, V) with targets (B, N), or (B, V) with (B); kIgnore counts nothing.
  template <class T>
  void add(const Tensor<T>& logits, const Ids& targets);
};

/// The class of the largest logit of each row; the first of equals. logits (..., V) -> (...).
template <class T>
Ids argmax(const Tensor<T>& logits);

/// Targets that count.
std::size_t count_targets(const Ids& targets);

}  // namespace xgrad
