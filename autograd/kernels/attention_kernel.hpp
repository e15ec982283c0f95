// Fused attention, forward and backward, for q, k and v in any layout. Internal.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/kernels/gemm.hpp>
#include <xgrad/autograd/ops.hpp>

namespace xgrad::detail {

/// Throws ShapeError, with a message that starts with `op`, unless the masks have the shapes that
/// AttentionMasks documents.
inline void check_masks(const char* op, const AttentionOptions& options, std::size_t batch,
                        std::size_t queries, std::size_t keys) {
  const auto check = [op](const char* name, const SharedMask& mask, const Shape& expected) {
    check_shape(!mask || mask->shape() == expected, op, ": ", name, ": expected ", expected,
                ", got ", mask ? mask->shape() : Shape{});
  };
  check("key_mask", options.masks.key_mask, {batch, keys});
  check("mask", options.masks.mask, {batch, queries, keys});
}

/// The factor of the scores: options.scale or, by default, 1 / sqrt(key_width).
template <class T>
T attention_scale(const AttentionOptions& options, std::size_t key_width) {
  return T(options.scale ? *options.scale
                         : 1 / std::sqrt(double(std::max<std::size_t>(1, key_width))));
}

/// A view of q, k, v, the result, or the gradient of one of these. Token n of head h of sample b
/// begins at data + b * sample + h * head_stride + n * row. P is T* or Elements<T>.
template <class P>
struct Tokens {
  P data = {};
  std::size_t sample = 0, head_stride = 0, row = 0, width = 0;  // width: of one head

  P head(std::size_t b, std::size_t h) const { return data + (b * sample + h * head_stride); }
};

/// Tokens to read.
template <class T>
using InputTokens = Tokens<Elements<T>>;

/// Destination of a gradient; its data is null if the gradient is not wanted.
template <class T>
struct GradientTokens : Tokens<T*> {
  T beta = 0;  // 0: write, 1: add
};

/// A bias added to the scores. The bias of sample b, head h, query n and key m is the element at
/// data + b * sample + h * head + n * row + m * key. Null data: no bias.
template <class T>
struct AttentionBias {
  const T* data = nullptr;
  std::size_t sample = 0, head = 0, row = 0, key = 0;
};

template <class T>
struct AttentionInputs {
  InputTokens<T> q, k, v;
  AttentionBias<T> bias = {};
};

template <class T>
struct AttentionGradients {
  GradientTokens<T> q, k, v;
  T* scores = nullptr;  // (batch, heads, queries, keys), zeros on entry; null: not wanted
};

/// An attention to compute. Requires: the masks have the shapes that AttentionMasks documents.
///
/// With `bf16`, the elements of the inputs are Bf16. Attention weights and gradients of scores are
/// rounded to Bf16 before a matrix product reads them. Everything else is in T.
struct AttentionProblem {
  AttentionOptions options;
  std::size_t batch = 0, queries = 0, keys = 0, key_width = 0;
  bool bf16 = false;

  /// Whether backward reads the result y, to compute dy . y for each query. With `bf16` and at most
  /// kPieceKeys keys, backward computes these numbers from the scores instead.
  bool needs_result() const;
};

/// Computes attention in blocks, so that memory is linear in the number of tokens. In forward, a
/// thread holds the scores of some queries for all keys. In backward, it holds the scores of some
/// queries for some keys, and the gradients of these scores. Returns the softmax normalisers for
/// backward, (batch, heads, queries, 2): maximum and 1 / sum exp(s - maximum) of a row of scores s.
template <class T>
Tensor<T> attention_forward(const AttentionProblem& problem, const AttentionInputs<T>& in,
                            const Tokens<T*>& y);

/// `y` is the result of attention_forward(); y.data may be null if needs_result() is false.
template <class T>
void attention_backward(const AttentionProblem& problem, const Tensor<T>& normalisers,
                        const AttentionInputs<T>& in, const InputTokens<T>& y,
                        const InputTokens<T>& dy, const AttentionGradients<T>& d);

}  // namespace xgrad::detail
