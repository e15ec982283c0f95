// Pooling: one vector of a sequence.
#pragma once

#include <xgrad/layers/module.hpp>

namespace xgrad {

/// What a head reads: every token, the class token, or one vector from the tokens that the mask
/// keeps: their mean, the largest of each feature, or what a learned query attends to. S4.6.
enum class Pool { none, cls, mean, max, attention };

/// x (B, N, D) -> (B, D), or x itself for Pool::none. Attention is
///
///     sum_n softmax_n(q . x_n / sqrt(D)) x_n
///
/// with the parameter `query`, q (D), normal with deviation 0.02.
template <class T>
class Pooling {
 public:
  /// Makes its parameter, if it has one, below `scope`.
  Pooling(const Scope<T>& scope, Pool kind, std::size_t width);

  /// `mask` (B, N): 1 = a token; null = all.
  Variable<T> operator()(const Variable<T>& x, const std::shared_ptr<const Mask>& mask) const;

 private:
  Pool kind_;
  Variable<T> query_;
};

}  // namespace xgrad
