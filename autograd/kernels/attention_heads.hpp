// Views of attention's tokens, and copies of keys and values laid out for fast products. Internal.
#pragma once

#include <cstddef>

#include <xgrad/autograd/tensor.hpp>

namespace xgrad::detail {

/// A view of q, k, v, the result, or one of their gradients. Token n of head h of sample b begins
/// at data + b sample + h head_stride + n row.
template <class P>
struct Tokens {
  P* data = nullptr;
  std::size_t sample = 0, head_stride = 0, row = 0, width = 0;  // width: of one head

  P* head(std::size_t b, std::size_t h) const { return data + b * sample + h * head_stride; }
};

struct AttentionSizes {
  std::size_t batch, heads, queries, keys;
};

/// Copies x (keys or values), transposed and cut into pieces of `piece` keys per head: (batch,
/// heads, pieces, width, stride). Requires: stride >= piece.
template <class T>
Tensor<T> transposed_heads(const Tokens<const T>& x, const AttentionSizes& sizes, std::size_t piece,
                           std::size_t stride);

/// Copies x (keys or values) into `memory` with the rows of each head contiguous, because rows that
/// lie far apart compete for the same cache sets. Returns a view of the copy.
template <class T>
Tokens<const T> packed_heads(const Tokens<const T>& x, const AttentionSizes& sizes,
                             Tensor<T>& memory);

}  // namespace xgrad::detail
