// Where attention's tokens lie, and copies of keys and values in the order in which products read
// them fastest. Not installed.
#pragma once

#include <cstddef>

#include <xgrad/autograd/tensor.hpp>

namespace xgrad::detail {

/// q, k, v, the result, or a gradient of one: token n of head h of sample b begins at
/// data + b sample + h next + n row.
template <class P>
struct Tokens {
  P* data = nullptr;
  std::size_t sample = 0, next = 0, row = 0, width = 0;  // width: of one head

  P* head(std::size_t b, std::size_t h) const { return data + b * sample + h * next; }
};

struct AttentionSizes {
  std::size_t batch, heads, queries, keys;
};

/// The heads of x, keys or values, each in pieces of `piece` keys, transposed: (batch, heads,
/// pieces, width, stride). Requires: stride >= piece.
template <class T>
Tensor<T> transposed_heads(const Tokens<const T>& x, const AttentionSizes& sizes, std::size_t piece,
                           std::size_t stride);

/// x, keys or values, with the rows of a head one after the other in `memory`: rows that lie far
/// apart compete for few places of the caches.
template <class T>
Tokens<const T> packed_heads(const Tokens<const T>& x, const AttentionSizes& sizes,
                             Tensor<T>& memory);

}  // namespace xgrad::detail
