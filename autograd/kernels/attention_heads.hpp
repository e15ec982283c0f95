// Views of attention's tokens, and copies of keys and values laid out for fast products. Internal.
#pragma once

#include <cstddef>

#include <xgrad/autograd/kernels/operands.hpp>

namespace xgrad::detail {

/// A view of q, k, v, the result, or one of their gradients. Token n of head h of sample b begins
/// at data + b sample + h head_stride + n row. P is T* or Elements<T>.
template <class P>
struct Tokens {
  P data = {};
  std::size_t sample = 0, head_stride = 0, row = 0, width = 0;  // width: of one head

  P head(std::size_t b, std::size_t h) const { return data + (b * sample + h * head_stride); }
};

/// Tokens to read.
template <class T>
using InputTokens = Tokens<Elements<T>>;

struct AttentionSizes {
  std::size_t batch, heads, queries, keys;
};

/// Copies x (keys or values), transposed and cut into pieces of `piece` keys per head: (batch,
/// heads, pieces, width, stride). Requires: stride >= piece.
template <class T>
Operand<T> transposed_heads(const InputTokens<T>& x, const AttentionSizes& sizes, std::size_t piece,
                            std::size_t stride);

/// Copies x (keys or values) with the rows of each head contiguous, because rows that lie far apart
/// compete for the same cache sets: (batch, heads, keys, width).
template <class T>
Operand<T> packed_heads(const InputTokens<T>& x, const AttentionSizes& sizes);

}  // namespace xgrad::detail
