// BatchNorm: zero mean and unit variance of each feature over the batch, then a learned scale and
// shift.
#pragma once

#include <xgrad/layers/module.hpp>

namespace xgrad {

/// gamma (x - mean) / sqrt(var + eps) + beta with the moments of each feature over all tokens of
/// all samples that the mask counts (S1.5; Ioffe & Szegedy 2015); weight (D) starts at 1, bias (D)
/// at 0.
///
/// The moments are always those of the batch at hand, outside training too, as those of PyTorch's
/// nn.BatchNorm1d(track_running_stats=False): what is said of a sample depends on the samples
/// beside it, which is what layer norm is held against.
template <class T>
class BatchNorm {
 public:
  /// Makes weight (D) = 1 and bias (D) = 0 below `scope`.
  BatchNorm(const Scope<T>& scope, std::size_t width, double eps = 1e-5);

  /// x (B, N, D), mask (B, N) with 1 = counts, null = all -> (B, N, D), zeros where masked.
  Variable<T> operator()(const Variable<T>& x, const std::shared_ptr<const Mask>& mask) const {
    return batch_norm(x, weight_, bias_, mask, eps_);
  }

 private:
  Variable<T> weight_;
  Variable<T> bias_;
  double eps_;
};

}  // namespace xgrad
