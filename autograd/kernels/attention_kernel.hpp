// Fused attention, forward and backward, for q, k and v in any layout. Internal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/kernels/attention_heads.hpp>
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

/// Destination of a gradient; its data is null if the gradient is not wanted.
template <class T>
struct GradientTokens : Tokens<T*> {
  T beta = 0;  // 0: write, 1: add
};

/// A bias added to the scores. For sample b, head h, query n and key m it is the element at
/// data + b sample + h head + n row + m key. Null data: no bias.
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

/// Computes attention in blocks, so that memory is linear in the number of tokens. A thread holds
/// the scores of some queries and all keys (forward), or two blocks of some queries and some keys
/// (backward). For backward it keeps two numbers per head and query, the softmax normalisers.
///
/// For products in mixed precision, their inputs have elements of Bf16, the scores and their
/// gradients are rounded to it before they are multiplied, and all else is in T.
template <class T>
class AttentionKernel {
 public:
  /// Requires: the masks have the shapes that AttentionMasks documents.
  AttentionKernel(const AttentionOptions& options, const AttentionSizes& sizes,
                  std::size_t key_width, bool bf16);

  void forward(const AttentionInputs<T>& in, const Tokens<T*>& y);
  /// Whether backward() reads the result. In mixed precision it does so only if a row of scores is
  /// cut into pieces; otherwise it finds the sums that it needs in the row itself.
  bool needs_result() const;
  /// `y` is the result of forward(), without data if it is not needed.
  void backward(const AttentionInputs<T>& in, const InputTokens<T>& y, const InputTokens<T>& dy,
                const AttentionGradients<T>& d) const;

 private:
  // Query rows [begin, begin + rows) of head h of sample b. They see only keys [0, keys).
  struct QueryBlock {
    std::size_t b, h, begin, rows, keys;
  };
  // Keys [first, first + keys) of a block, whose scores are contiguous.
  struct Piece {
    std::size_t first, keys;
  };
  // The work space of a thread: scores (pieces, block_rows_, stride_), in backward of one piece;
  // dropout factors of some rows; in backward also the gradients of the scores, and dY_i . Y_i for
  // each row of a block; a piece of scores or gradients rounded.
  struct Scratch {
    T *scores, *factors, *dscores, *means;
    Bf16* operand;
  };

  template <class Body>
  void for_each_piece(const QueryBlock& at, const Body& body) const;
  template <class Body>
  void for_each_block(std::size_t width, bool backward, const Body& body) const;
  QueryBlock block(std::size_t head, std::size_t begin) const;
  MatrixView<T> operand(const T* scores, const QueryBlock& at, const Piece& piece,
                        const Scratch& scratch, Transpose transpose) const;
  Operand<T> transposed(const InputTokens<T>& x) const;
  InputTokens<T> packed(const InputTokens<T>& x, Operand<T>& memory) const;
  void multiply_by_keys(const InputTokens<T>& x, const InputTokens<T>& keys,
                        const Operand<T>& transposed, T factor, const QueryBlock& at,
                        const Piece& piece, T* scores) const;
  void compute_scores(const AttentionInputs<T>& in, const Operand<T>& transposed_k,
                      const QueryBlock& at, const Piece& piece, T* s) const;
  void hide_keys(const QueryBlock& at, std::size_t first, std::size_t keys, T* s) const;
  const T* dropout_row(const QueryBlock& at, const Piece& piece, std::size_t row, T* buffer) const;
  std::size_t first_normaliser(const QueryBlock& at) const;
  void forward_block(const AttentionInputs<T>& in, const Operand<T>& transposed_k,
                     const QueryBlock& at, const Tokens<T*>& y, const Scratch& scratch);
  void backward_block(const AttentionInputs<T>& in, const Operand<T>& transposed_k,
                      const Operand<T>& transposed_v, const QueryBlock& at, const InputTokens<T>& y,
                      const InputTokens<T>& dy, const AttentionGradients<T>& d,
                      const Scratch& scratch) const;
  void differentiate_softmax(const QueryBlock& at, const Piece& piece, T* dscores,
                             const Scratch& scratch) const;

  AttentionOptions options_;
  bool bf16_;
  AttentionSizes sizes_;
  T scale_;
  std::size_t stride_;              // distance between rows of scores in a piece
  std::size_t block_rows_;          // query rows in a block
  std::vector<std::size_t> keys_;   // per sample: all keys from this one on are masked
  std::vector<std::uint8_t> gaps_;  // per sample: whether an earlier key is masked too
  Tensor<T> normalisers_;  // (batch, heads, queries, 2): a row's maximum, 1 / sum exp(s - maximum)
};

}  // namespace xgrad::detail
