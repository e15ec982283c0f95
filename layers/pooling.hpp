// Pooling: reduces a sequence to one vector.
#pragma once

#include <xgrad/layers/module.hpp>

namespace xgrad {

/// Input of the output head. none: every token. cls: the class token. The others reduce the
/// unmasked tokens to one vector: their mean, the maximum of each feature, or attention with a
/// learned query.
enum class Pool { none, cls, mean, max, attention };

/// x (B, N, D) -> (B, D), or x itself for Pool::none. Attention pooling is
///
///     sum_n softmax_n(q . x_n / sqrt(D)) x_n
///
/// with the parameter `query`, q (D), initially N(0, 0.02^2).
template <class T>
class Pooling {
 public:
  /// Makes its parameter, if it has one, below `scope`.
  Pooling(const Scope<T>& scope, Pool kind, std::size_t width);

  /// `mask` (B, N): 1 = a token; null = all.
  Variable<T> operator()(const Variable<T>& x, const SharedMask& mask) const;

 private:
  Pool kind_;
  Variable<T> query_;
};

}  // namespace xgrad
