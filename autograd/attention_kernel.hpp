// The one implementation of attention: rows anywhere in memory, forward and backward. Not
// installed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <xgrad/autograd/attention_heads.hpp>
#include <xgrad/autograd/ops.hpp>

namespace xgrad::detail {

/// Where a gradient goes; null data where none is wanted.
template <class T>
struct GradientTokens : Tokens<T> {
  T beta = 0;  // 0: write, 1: add
};

/// What is added to the scores: for head h of sample b, query n and key m the element at
/// data + b sample + h head + n row + m key; null data where there is nothing.
template <class T>
struct AttentionBias {
  const T* data = nullptr;
  std::size_t sample = 0, head = 0, row = 0, key = 0;
};

template <class T>
struct AttentionInputs {
  Tokens<const T> q, k, v;
  AttentionBias<T> bias = {};
};

template <class T>
struct AttentionGradients {
  GradientTokens<T> q, k, v;
  T* scores = nullptr;  // (batch, heads, queries, keys), zero; null where it is not wanted
};

/// Keeps two numbers a head and query for backward: those that normalise its row of the softmax.
/// While it runs, a thread holds a block of scores, some query rows by all keys (forward) or twice
/// by some keys (backward): memory is linear in the number of tokens.
template <class T>
class AttentionKernel {
 public:
  /// Requires: masks are of the shapes that Attention says.
  AttentionKernel(const Attention& options, const AttentionSizes& sizes, std::size_t key_width);

  void forward(const AttentionInputs<T>& in, const Tokens<T>& y);
  void backward(const AttentionInputs<T>& in, const Tokens<const T>& y, const Tokens<const T>& dy,
                const AttentionGradients<T>& d) const;

 private:
  // Query rows [begin, begin + rows) of a head, and the keys that any of them may see.
  struct Block {
    std::size_t b, h, begin, rows, keys;
  };
  // Keys of a block whose scores lie together.
  struct Piece {
    std::size_t first, keys;
  };
  // What a thread works in: scores, (pieces, block_rows_, stride_), in backward of one piece;
  // dropout factors of some rows; and in backward gradients of scores, as scores, and dY_i . Y_i
  // of a block's rows.
  struct Scratch {
    T *scores, *factors, *dscores, *means;
  };

  template <class Body>
  void for_each_piece(const Block& at, const Body& body) const;
  template <class Body>
  void for_each_block(std::size_t width, bool backward, const Body& body) const;
  Block block(std::size_t head, std::size_t begin) const;
  Tensor<T> transposed(const Tokens<const T>& x) const;
  Tokens<const T> packed(const Tokens<const T>& x, Tensor<T>& memory) const;
  void multiply_by_keys(const T* x, std::size_t row, const Tokens<const T>& keys,
                        const Tensor<T>& transposed, T factor, const Block& at, const Piece& piece,
                        T* scores) const;
  void compute_scores(const AttentionInputs<T>& in, const Tensor<T>& transposed_k, const Block& at,
                      const Piece& piece, T* s) const;
  void hide_keys(const Block& at, std::size_t first, std::size_t keys, T* s) const;
  const T* dropout_row(const Block& at, const Piece& piece, std::size_t row, T* buffer) const;
  std::size_t first_normaliser(const Block& at) const;
  void forward_block(const AttentionInputs<T>& in, const Tensor<T>& transposed_k, const Block& at,
                     const Tokens<T>& y, const Scratch& scratch);
  void backward_block(const AttentionInputs<T>& in, const Tensor<T>& transposed_k,
                      const Tensor<T>& transposed_v, const Block& at, const Tokens<const T>& y,
                      const Tokens<const T>& dy, const AttentionGradients<T>& d,
                      const Scratch& scratch) const;
  void differentiate_softmax(const Block& at, const Piece& piece, T* dscores,
                             const Scratch& scratch) const;

  Attention options_;
  AttentionSizes sizes_;
  T scale_;
  std::size_t stride_;              // from row to row of a piece of a block of scores
  std::size_t block_rows_;          // of a block of scores
  std::vector<std::size_t> keys_;   // a sample: the keys from here on are all masked
  std::vector<std::uint8_t> gaps_;  // a sample: whether a key before is masked too
  Tensor<T> normalisers_;  // (batch, heads, queries, 2): a row's maximum, 1 / sum exp(s - maximum)
};

}  // namespace xgrad::detail
