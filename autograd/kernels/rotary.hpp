// The rotation of rotary positions, for its op and for decoding, where tokens have any position.
#pragma once

#include <xgrad/autograd/tensor.hpp>

namespace xgrad::detail {

/// Cosines and sines of the angles n base^(-2i/head_dim) of feature pair i at position n. Su et al.
/// 2021.
template <class T>
class RotaryTable {
 public:
  /// For the positions first ... first + tokens - 1. Computes angles in double for every scalar
  /// type, so that all differentiate the same function.
  RotaryTable(std::size_t first, std::size_t tokens, std::size_t head_dim, double base);

  /// Rotates the first `heads` heads of every row of x, `rows` rows of `width` numbers, and copies
  /// the rest. Row r has the position r mod tokens. x and y may be the same; sign -1 rotates back.
  void rotate(const T* x, T* y, std::size_t rows, std::size_t width, std::size_t heads,
              T sign) const;

 private:
  std::size_t head_dim_;
  Tensor<T> table_;  // (tokens, head_dim)
};

}  // namespace xgrad::detail
