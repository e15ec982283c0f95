// RmsNorm: each token's features divided by their root mean square, then a learned scale.
#pragma once

#include <xgrad/layers/module.hpp>

namespace xgrad {

/// gamma x / sqrt(mean(x^2) + eps) over the last axis; weight (D) starts at 1. Zhang & Sennrich
/// 2019.
template <class T>
class RmsNorm {
 public:
  /// Makes weight (D) = 1 below `scope`.
  RmsNorm(const Scope<T>& scope, std::size_t width, double eps = 1e-5);

  /// x (..., D) -> (..., D).
  Variable<T> operator()(const Variable<T>& x) const { return rms_norm(x, weight_, eps_); }

 private:
  Variable<T> weight_;
  double eps_;
};

}  // namespace xgrad
