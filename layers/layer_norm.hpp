// LayerNorm: zero mean and unit variance of each token's features, then a learned scale and shift.
#pragma once

#include <xgrad/layers/module.hpp>

namespace xgrad {

/// gamma (x - mean) / sqrt(var + eps) + beta over the last axis; weight (D) starts at 1, bias (D)
/// at 0. S1.4.
template <class T>
class LayerNorm {
 public:
  /// Makes weight (D) = 1 and bias (D) = 0 below `scope`.
  LayerNorm(const Scope<T>& scope, std::size_t width, double eps = 1e-5);

  /// x (..., D) -> (..., D).
  Variable<T> operator()(const Variable<T>& x) const { return layer_norm(x, weight_, bias_, eps_); }

 private:
  Variable<T> weight_;
  Variable<T> bias_;
  double eps_;
};

}  // namespace xgrad
