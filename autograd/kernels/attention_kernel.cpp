#include <xgrad/autograd/kernels/attention_kernel.hpp>

#include <algorithm>
#include <cmath>

#include <xgrad/autograd/kernels/attention_scores.hpp>
#include <xgrad/autograd/kernels/gemm.hpp>
#include <xgrad/autograd/parallel.hpp>
#include <xgrad/autograd/scalar.hpp>

namespace xgrad::detail {

namespace {
constexpr std::size_t kBlockElements = 65536;  // scores in a block: they fit the L2 cache
constexpr std::size_t kMinRows = 96;  // least rows in a block: products of fewer rows are slow
// Rows of 4,096 scores would lie whole pages apart, and their first cache lines
// would compete for the same few cache sets, which slows products down.
constexpr std::size_t kPieceKeys = 240;
constexpr std::size_t kChunkElements = 4096;  // dropout factors in a chunk: they fit the L1 cache
constexpr std::size_t kTaskWork = 1 << 18;    // least multiplications worth a parallel task

template <class T, class E>
[[gnu::noinline]] T row_dot(const E* x, const E* y, std::size_t n) {
  return sum_terms<T>(n, [=](std::size_t i) { return T(x[i]) * T(y[i]); });
}

template <class T>
T row_dot(const Elements<T>& x, const Elements<T>& y, std::size_t n) {
  if constexpr (std::is_same_v<T, float>) {
    if (x.is_bf16()) return row_dot<T>(x.template of<Bf16>(), y.template of<Bf16>(), n);
  }
  return row_dot<T>(x.template of<T>(), y.template of<T>(), n);
}

// Writes zeros to rows [begin, end) of a gradient that starts from nothing (beta 0).
template <class T>
void zero_rows(const GradientTokens<T>& d, std::size_t b, std::size_t h, std::size_t begin,
               std::size_t end) {
  if (!d.data || d.beta != T(0)) return;
  for (std::size_t n = begin; n < end; ++n) std::fill_n(d.head(b, h) + n * d.row, d.width, T(0));
}

constexpr std::size_t pieces_of(std::size_t keys) {
  return (keys + kPieceKeys - 1) / kPieceKeys;
}

}  // namespace

template <class T>
AttentionKernel<T>::AttentionKernel(const AttentionOptions& options, const AttentionSizes& sizes,
                                    std::size_t key_width, bool bf16)
    : options_(options),
      bf16_(bf16),
      sizes_(sizes),
      scale_(T(options.scale ? *options.scale
                             : 1 / std::sqrt(double(std::max<std::size_t>(1, key_width))))),
      stride_((std::clamp<std::size_t>(sizes.keys, 1, kPieceKeys) + 15) / 16 * 16),
      keys_(sizes.batch, sizes.keys),
      gaps_(sizes.batch, 0) {
  const std::size_t keys = std::max<std::size_t>(1, sizes.keys);
  block_rows_ =
      std::min(std::max(kBlockElements / keys, kMinRows), std::max<std::size_t>(1, sizes.queries));
  if (!options_.masks.key_mask) return;
  for (std::size_t b = 0; b < sizes.batch; ++b) {
    const std::uint8_t* keep = options_.masks.key_mask->data() + b * sizes.keys;
    while (keys_[b] > 0 && !keep[keys_[b] - 1]) --keys_[b];
    gaps_[b] = std::find(keep, keep + keys_[b], 0) != keep + keys_[b];
  }
}

template <class T>
bool AttentionKernel<T>::needs_result() const {
  return !bf16_ || sizes_.keys > kPieceKeys;
}

// Calls body(piece, its offset in the scores) for each piece of a block.
template <class T>
template <class Body>
void AttentionKernel<T>::for_each_piece(const QueryBlock& at, const Body& body) const {
  for (std::size_t first = 0; first < at.keys; first += kPieceKeys) {
    body(Piece{first, std::min(kPieceKeys, at.keys - first)},
         first / kPieceKeys * block_rows_ * stride_);
  }
}

// Calls body(block, scratch) for all blocks in parallel. In backward, the blocks of a head run in
// order on one thread, since they add to the same dk and dv.
template <class T>
template <class Body>
void AttentionKernel<T>::for_each_block(std::size_t width, bool backward, const Body& body) const {
  // Blocks per head; without queries one empty block, so that gradients are still written.
  const std::size_t a_head =
      std::max<std::size_t>(1, (sizes_.queries + block_rows_ - 1) / block_rows_);
  const std::size_t work = block_rows_ * sizes_.keys * width;
  const std::size_t size = (backward ? 1 : pieces_of(sizes_.keys)) * block_rows_ * stride_;
  const std::size_t factors_size = kChunkElements + padded<T>(sizes_.keys);
  const Shape room{size + factors_size + (backward ? size + block_rows_ : 0)};
  const Shape operand_room{bf16_ ? block_rows_ * stride_ : 0};
  std::size_t grain = std::max<std::size_t>(1, kTaskWork / std::max<std::size_t>(1, work));
  if (backward) grain = (grain + a_head - 1) / a_head * a_head;
  parallel_for(
      sizes_.batch * sizes_.heads * a_head, grain, [&](std::size_t begin, std::size_t end) {
        Tensor<T> memory = empty<T>(room);
        Tensor<Bf16> operand = empty<Bf16>(operand_room);
        Scratch scratch{memory.data(), memory.data() + size, nullptr, nullptr, operand.data()};
        if (backward) {
          scratch.dscores = scratch.factors + factors_size;
          scratch.means = scratch.dscores + size;
        }
        for (std::size_t i = begin; i < end; ++i) {
          body(block(i / a_head, i % a_head * block_rows_), scratch);
        }
      });
}

template <class T>
typename AttentionKernel<T>::QueryBlock AttentionKernel<T>::block(std::size_t head,
                                                                  std::size_t begin) const {
  const std::size_t b = head / sizes_.heads, rows = std::min(block_rows_, sizes_.queries - begin);
  const std::size_t keys = options_.causal ? std::min(keys_[b], begin + rows) : keys_[b];
  return {b, head % sizes_.heads, begin, rows, keys};
}

// The block's scores of a piece as an operand: themselves, or rounded copies in the scratch.
template <class T>
MatrixView<T> AttentionKernel<T>::operand(const T* scores, const QueryBlock& at, const Piece& piece,
                                          const Scratch& scratch, Transpose transpose) const {
  if constexpr (std::is_same_v<T, float>) {
    if (bf16_) {
      for (std::size_t i = 0; i < at.rows; ++i) {
        round_to_bf16(scores + i * stride_, piece.keys, scratch.operand + i * stride_);
      }
      return {scratch.operand, stride_, transpose};
    }
  }
  return {scores, stride_, transpose};
}

// The transposed heads of x if several blocks of queries multiply by them, which saves packing them
// for each block; else none.
template <class T>
Operand<T> AttentionKernel<T>::transposed(const InputTokens<T>& x) const {
  if (sizes_.queries <= block_rows_) return {};
  return transposed_heads(x, sizes_, kPieceKeys, stride_);
}

// x packed into `memory` if several blocks of queries read it; else x itself.
template <class T>
InputTokens<T> AttentionKernel<T>::packed(const InputTokens<T>& x, Operand<T>& memory) const {
  if (sizes_.queries <= block_rows_) return x;
  memory = packed_heads(x, sizes_);
  const std::size_t size = sizes_.keys * x.width;
  return {memory.data(), sizes_.heads * size, size, x.width, x.width};
}

// scores = factor X K^T for the block's rows of X and a piece of the keys. The bits are the same
// with and without `transposed`.
template <class T>
void AttentionKernel<T>::multiply_by_keys(const InputTokens<T>& x, const InputTokens<T>& keys,
                                          const Operand<T>& transposed, T factor,
                                          const QueryBlock& at, const Piece& piece,
                                          T* scores) const {
  MatrixView<T> k{keys.head(at.b, at.h) + piece.first * keys.row, keys.row, Transpose::yes};
  if (transposed) {
    const std::size_t pieces = transposed.shape()[1], size = transposed.shape()[2];
    const std::size_t head = at.b * sizes_.heads + at.h;
    k = {transposed.data() + (head * pieces + piece.first / kPieceKeys) * size, stride_};
  }
  gemm(at.rows, piece.keys, keys.width, factor, {x.head(at.b, at.h) + at.begin * x.row, x.row}, k,
       T(0), scores, stride_);
}

// s = scale Q K^T + bias; -inf for hidden keys.
template <class T>
void AttentionKernel<T>::compute_scores(const AttentionInputs<T>& in,
                                        const Operand<T>& transposed_k, const QueryBlock& at,
                                        const Piece& piece, T* s) const {
  multiply_by_keys(in.q, in.k, transposed_k, scale_, at, piece, s);
  pad_rows(s, at.rows, stride_, piece.keys, kHidden<T>);
  if (in.bias.data)
    add_bias(in.bias, at.b, at.h, at.begin, at.rows, piece.first, piece.keys, s, stride_);
  hide_keys(at, piece.first, piece.keys, s);
}

// Sets the scores s of keys [first, first + keys) to -inf where the query may not see the key.
template <class T>
void AttentionKernel<T>::hide_keys(const QueryBlock& at, std::size_t first, std::size_t keys,
                                   T* s) const {
  for (std::size_t i = 0; i < at.rows; ++i, s += stride_) {
    const std::size_t n = at.begin + i;
    if (gaps_[at.b]) hide(s, options_.masks.key_mask->data() + at.b * sizes_.keys + first, keys);
    if (options_.masks.mask) {
      hide(s, options_.masks.mask->data() + (at.b * sizes_.queries + n) * sizes_.keys + first,
           keys);
    }
    if (options_.causal && n + 1 < first + keys) {
      std::fill(s + (n + 1 > first ? n + 1 - first : 0), s + keys, kHidden<T>);
    }
    if (options_.exclude_self && n >= first && n < first + keys) s[n - first] = kHidden<T>;
  }
}

// The dropout factors of a block's row for a piece of the keys; null without dropout. Computes
// several rows at a time. Requires: called for the rows in order.
template <class T>
const T* AttentionKernel<T>::dropout_row(const QueryBlock& at, const Piece& piece, std::size_t row,
                                         T* buffer) const {
  const DropoutOptions& dropout = options_.dropout;
  if (dropout.p == 0) return nullptr;
  const std::size_t width = padded<T>(piece.keys);
  const std::size_t chunk = std::max<std::size_t>(1, kChunkElements / width);
  if (row % chunk == 0) {
    dropout_factors(*dropout.rng, dropout.p, dropout.first_sample + std::uint32_t(at.b),
                    std::uint32_t(at.h), std::uint32_t(at.begin + row),
                    std::min(chunk, at.rows - row), width, buffer, width, piece.first);
  }
  return buffer + row % chunk * width;
}

template <class T>
std::size_t AttentionKernel<T>::first_normaliser(const QueryBlock& at) const {
  return 2 * ((at.b * sizes_.heads + at.h) * sizes_.queries + at.begin);
}

template <class T>
void AttentionKernel<T>::forward(const AttentionInputs<T>& in, const Tokens<T*>& y) {
  normalisers_ = empty<T>({sizes_.batch, sizes_.heads, sizes_.queries, 2});
  const Operand<T> k = transposed(in.k);
  Operand<T> memory;
  const AttentionInputs<T> x{in.q, in.k, packed(in.v, memory), in.bias};
  for_each_block(in.q.width + in.v.width, false, [&](const QueryBlock& at, const Scratch& scratch) {
    forward_block(x, k, at, y, scratch);
  });
}

template <class T>
void AttentionKernel<T>::forward_block(const AttentionInputs<T>& in, const Operand<T>& transposed_k,
                                       const QueryBlock& at, const Tokens<T*>& y,
                                       const Scratch& scratch) {
  T* out = y.head(at.b, at.h) + at.begin * y.row;
  if (at.keys == 0) {
    for (std::size_t i = 0; i < at.rows; ++i) std::fill_n(out + i * y.row, y.width, T(0));
    return;
  }
  for_each_piece(at, [&](const Piece& piece, std::size_t offset) {
    compute_scores(in, transposed_k, at, piece, scratch.scores + offset);
  });
  T* const normalisers = normalisers_.data() + first_normaliser(at);
  for (std::size_t i = 0; i < at.rows; ++i) {
    T* const row = scratch.scores + i * stride_;
    T largest = kHidden<T>, sum = 0;
    for_each_piece(at, [&](const Piece& piece, std::size_t offset) {
      largest = std::max(largest, row_max(row + offset, padded<T>(piece.keys)));
    });
    if (largest == kHidden<T>) largest = T(0);
    const T* const factors = dropout_row(at, {0, at.keys}, i, scratch.factors);
    for_each_piece(at, [&](const Piece& piece, std::size_t offset) {
      sum += with_factors(factors ? factors + piece.first : nullptr, [&](const auto& factor) {
        return exponentiate(row + offset, padded<T>(piece.keys), largest, factor);
      });
    });
    normalisers[2 * i] = largest;
    normalisers[2 * i + 1] = sum == T(0) ? T(0) : T(1) / sum;  // 0 if all keys are hidden
  }
  for_each_piece(at, [&](const Piece& piece, std::size_t offset) {
    gemm(at.rows, y.width, piece.keys, T(1),
         operand(scratch.scores + offset, at, piece, scratch, Transpose::no),
         {in.v.head(at.b, at.h) + piece.first * in.v.row, in.v.row}, T(piece.first > 0), out,
         y.row);
  });
  for (std::size_t i = 0; i < at.rows; ++i) {
    T* row = out + i * y.row;
    const T inverse = normalisers[2 * i + 1];
#pragma omp simd
    for (std::size_t c = 0; c < y.width; ++c) row[c] *= inverse;
  }
}

// For one head, with P = softmax(S), S = scale Q K^T + bias, dropout factors F and Y = (F P) V;
// products with F, and P (...), are elementwise:
//   d(F P) = dY V^T,  dS = P (F d(F P) - D) with D_i = sum_j P_ij F_ij d(F P)_ij = dY_i . Y_i,
//   dV = (F P)^T dY,  dQ = scale dS K,  dK = scale dS^T Q,  dbias = dS.
// P is recomputed from S and the normalisers. Fully masked rows have gradient 0.
template <class T>
void AttentionKernel<T>::backward(const AttentionInputs<T>& in, const InputTokens<T>& y,
                                  const InputTokens<T>& dy, const AttentionGradients<T>& d) const {
  const Operand<T> k = transposed(in.k), v = transposed(in.v);
  Operand<T> memory;
  const AttentionInputs<T> x{in.q, packed(in.k, memory), in.v, in.bias};
  for_each_block(2 * (in.q.width + in.v.width), true,
                 [&](const QueryBlock& at, const Scratch& scratch) {
                   if (at.begin == 0) {
                     zero_rows(d.k, at.b, at.h, at.keys, sizes_.keys);
                     zero_rows(d.v, at.b, at.h, at.keys, sizes_.keys);
                   }
                   if (at.keys == 0) {
                     zero_rows(d.q, at.b, at.h, at.begin, at.begin + at.rows);
                   } else {
                     backward_block(x, k, v, at, y, dy, d, scratch);
                   }
                 });
}

template <class T>
void AttentionKernel<T>::backward_block(const AttentionInputs<T>& in,
                                        const Operand<T>& transposed_k,
                                        const Operand<T>& transposed_v, const QueryBlock& at,
                                        const InputTokens<T>& y, const InputTokens<T>& dy,
                                        const AttentionGradients<T>& d,
                                        const Scratch& scratch) const {
  const MatrixView<T> q{in.q.head(at.b, at.h) + at.begin * in.q.row, in.q.row};
  const MatrixView<T> dout{dy.head(at.b, at.h) + at.begin * dy.row, dy.row};
  T *s = scratch.scores, *ds = scratch.dscores;
  const T later = at.begin == 0 ? T(0) : T(1);  // later blocks of a head add to dk and dv
  for (std::size_t i = 0; i < at.rows; ++i) {
    const std::size_t n = at.begin + i;
    scratch.means[i] =
        y.data ? row_dot(dy.head(at.b, at.h) + n * dy.row, y.head(at.b, at.h) + n * y.row, y.width)
               : T(0);
  }
  for_each_piece(at, [&](const Piece& piece, std::size_t) {
    const std::size_t first = piece.first, n = piece.keys;
    compute_scores(in, transposed_k, at, piece, s);
    multiply_by_keys(dy, in.v, transposed_v, T(1), at, piece, ds);
    pad_rows(ds, at.rows, stride_, n, T(0));
    differentiate_softmax(at, piece, d.scores, scratch);
    if (d.v.data) {
      gemm(n, y.width, at.rows, T(1), operand(s, at, piece, scratch, Transpose::yes), dout,
           std::max(later, d.v.beta), d.v.head(at.b, at.h) + first * d.v.row, d.v.row);
    }
    if (!d.q.data && !d.k.data) return;
    const MatrixView<T> gradient = operand(ds, at, piece, scratch, Transpose::no);
    if (d.q.data) {
      gemm(at.rows, in.q.width, n, scale_, gradient,
           {in.k.head(at.b, at.h) + first * in.k.row, in.k.row}, first > 0 ? T(1) : d.q.beta,
           d.q.head(at.b, at.h) + at.begin * d.q.row, d.q.row);
    }
    if (d.k.data) {
      gemm(n, in.q.width, at.rows, scale_, {gradient.data, stride_, Transpose::yes}, q,
           std::max(later, d.k.beta), d.k.head(at.b, at.h) + first * d.k.row, d.k.row);
    }
  });
}

// Replaces scores by probabilities after dropout, and gradients of those by gradients of the
// scores, p (ds - mean). Where one p is nearly 1, ds - mean cancels and leaves the rounding error
// of the mean. That error is the mean of the differences, weighted by p, so it is subtracted too,
// except for several pieces, where it would need the differences of all pieces at once. Without the
// result the mean is taken for 0, and the error is the mean.
template <class T>
void AttentionKernel<T>::differentiate_softmax(const QueryBlock& at, const Piece& piece, T* dscores,
                                               const Scratch& scratch) const {
  const T* normalisers = normalisers_.data() + first_normaliser(at);
  const std::size_t n = padded<T>(piece.keys);
  for (std::size_t i = 0; i < at.rows; ++i) {
    T *row = scratch.scores + i * stride_, *drow = scratch.dscores + i * stride_;
    with_factors(dropout_row(at, piece, i, scratch.factors), [&](const auto& factor) {
      const T error = subtract_mean(row, drow, n, normalisers + 2 * i, scratch.means[i], factor);
      differentiate(row, drow, n, piece.keys == at.keys ? error : T(0), factor);
    });
    if (!dscores) continue;
    std::copy_n(drow, piece.keys,
                dscores + (first_normaliser(at) / 2 + i) * sizes_.keys + piece.first);
  }
}

#define XGRAD_INSTANTIATE(T) template class AttentionKernel<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad::detail
