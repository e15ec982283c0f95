// Linear: y = x W^T + b.
#pragma once

#include <xgrad/layers/module.hpp>

namespace xgrad {

/// y = x W^T + b, where tokens are rows; W is the matrix of y = W x, where tokens are columns.
/// Parameters weight (out, in) and, unless disabled, bias (out), both initially
/// U(-1/sqrt(in), 1/sqrt(in)).
template <class T>
class Linear {
 public:
  /// Makes its parameters below `scope`.
  Linear(const Scope<T>& scope, std::size_t in, std::size_t out, bool bias = true);

  /// x (..., in) -> (..., out).
  Variable<T> operator()(const Variable<T>& x) const { return linear(x, weight_, bias_); }

  const Variable<T>& weight() const { return weight_; }  ///< (out, in)
  const Variable<T>& bias() const { return bias_; }      ///< (out); undefined if disabled

 private:
  Variable<T> weight_;
  Variable<T> bias_;
};

}  // namespace xgrad
