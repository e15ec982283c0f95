// Norm: layer norm, RMS norm or batch norm, with a learned scale and shift.
#pragma once

#include <xgrad/layers/module.hpp>

namespace xgrad {

/// The kind of norm.
///
/// layer: gamma (x - mean) / sqrt(var + eps) + beta over the last axis.
///
/// rms: gamma x / sqrt(mean(x^2) + eps) over the last axis. Zhang & Sennrich 2019.
///
/// batch: the formula of layer, but with mean and variance of each feature over all unmasked tokens
/// of the batch (Ioffe & Szegedy 2015). Evaluation uses the statistics of its batch too, as
/// PyTorch's nn.BatchNorm1d(track_running_stats=False) does, so the result for a sample depends on
/// the other samples of the batch.
enum class Normalization { layer, rms, batch };

/// Options of a Norm.
struct NormOptions {
  Normalization kind = Normalization::layer;  ///< kind of norm
  double eps = 1e-5;                          ///< added to the variance, or to the mean square
};

/// A norm with its parameters: weight (D), initially 1, and bias (D), initially 0; RMS norm has no
/// bias. Weight decay does not apply to them.
template <class T>
class Norm {
 public:
  /// Makes its parameters below `scope`.
  Norm(const Scope<T>& scope, std::size_t width, const NormOptions& options = {});

  /// x (..., D) -> (..., D). Only batch norm reads the mask (B, N), for x (B, N, D): 1 = a token, 0
  /// = padding, whose result is 0; null = all tokens.
  Variable<T> operator()(const Variable<T>& x, const SharedMask& mask = nullptr) const;

 private:
  NormOptions options_;
  Variable<T> weight_, bias_;
};

}  // namespace xgrad
