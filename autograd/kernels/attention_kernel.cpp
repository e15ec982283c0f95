#include <xgrad/autograd/kernels/attention_kernel.hpp>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include <xgrad/autograd/bfloat16.hpp>
#include <xgrad/autograd/kernels/attention_scores.hpp>
#include <xgrad/autograd/kernels/gemm.hpp>
#include <xgrad/autograd/parallel.hpp>
#include <xgrad/autograd/scalar.hpp>

namespace xgrad::detail {

namespace {
constexpr std::size_t kBlockElements = 65536;  // scores in a block: they fit the L2 cache
constexpr std::size_t kMinRows = 96;  // least rows in a block: products of fewer rows are slow
// Keys in a piece. Rows of 4,096 scores would lie whole pages apart, and their first cache lines
// would compete for the same few cache sets, which slows products down.
constexpr std::size_t kPiece = 240;
constexpr std::size_t kChunkElements = 4096;  // dropout factors in a chunk: they fit the L1 cache
constexpr std::size_t kTaskWork = 1 << 18;    // least multiplications worth a parallel task

template <class T>
MatrixView<T> view(const T* data, std::size_t stride, Transpose transpose = Transpose::no) {
  return {data, stride, transpose};
}

// Writes zeros to rows [begin, end) of a gradient that starts from nothing (beta 0).
template <class T>
void zero_rows(const GradientTokens<T>& d, std::size_t b, std::size_t h, std::size_t begin,
               std::size_t end) {
  if (!d.data || d.beta != T(0)) return;
  for (std::size_t n = begin; n < end; ++n) std::fill_n(d.head(b, h) + n * d.row, d.width, T(0));
}

constexpr std::size_t pieces_of(std::size_t keys) {
  return (keys + kPiece - 1) / kPiece;
}

}  // namespace

template <class T, class In>
AttentionKernel<T, In>::AttentionKernel(const AttentionOptions& options,
                                        const AttentionSizes& sizes, std::size_t key_width)
    : options_(options),
      sizes_(sizes),
      scale_(T(options.scale ? *options.scale
                             : 1 / std::sqrt(double(std::max<std::size_t>(1, key_width))))),
      stride_((std::clamp<std::size_t>(sizes.keys, 1, kPiece) + 15) / 16 * 16),
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

template <class T, class In>
bool AttentionKernel<T, In>::needs_result() const {
  return std::is_same_v<In, T> || sizes_.keys > kPiece;
}

// Calls body(piece, its offset in the scores) for each piece of a block.
template <class T, class In>
template <class Body>
void AttentionKernel<T, In>::for_each_piece(const Block& at, const Body& body) const {
  for (std::size_t first = 0; first < at.keys; first += kPiece) {
    body(Piece{first, std::min(kPiece, at.keys - first)}, first / kPiece * block_rows_ * stride_);
  }
}

// Calls body(block, scratch) for all blocks in parallel. In backward, the blocks of a head run in
// order on one thread, since they add to the same dk and dv.
template <class T, class In>
template <class Body>
void AttentionKernel<T, In>::for_each_block(std::size_t width, bool backward,
                                            const Body& body) const {
  // Blocks per head; without queries one empty block, so that gradients are still written.
  const std::size_t a_head =
      std::max<std::size_t>(1, (sizes_.queries + block_rows_ - 1) / block_rows_);
  const std::size_t work = block_rows_ * sizes_.keys * width;
  const std::size_t size = (backward ? 1 : pieces_of(sizes_.keys)) * block_rows_ * stride_;
  const std::size_t factors_size = kChunkElements + padded<T>(sizes_.keys);
  const Shape room{size + factors_size + (backward ? size + block_rows_ : 0)};
  const Shape operand_room{std::is_same_v<In, T> ? 0 : block_rows_ * stride_};
  std::size_t grain = std::max<std::size_t>(1, kTaskWork / std::max<std::size_t>(1, work));
  if (backward) grain = (grain + a_head - 1) / a_head * a_head;
  parallel_for(
      sizes_.batch * sizes_.heads * a_head, grain, [&](std::size_t begin, std::size_t end) {
        Tensor<T> memory = empty<T>(room);
        Tensor<In> operand = empty<In>(operand_room);
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

template <class T, class In>
typename AttentionKernel<T, In>::Block AttentionKernel<T, In>::block(std::size_t head,
                                                                     std::size_t begin) const {
  const std::size_t b = head / sizes_.heads, rows = std::min(block_rows_, sizes_.queries - begin);
  const std::size_t keys = options_.causal ? std::min(keys_[b], begin + rows) : keys_[b];
  return {b, head % sizes_.heads, begin, rows, keys};
}

// The block's scores of a piece as an operand: themselves, or rounded copies in the scratch.
template <class T, class In>
MatrixView<In> AttentionKernel<T, In>::operand(const T* scores, const Block& at, const Piece& piece,
                                               const Scratch& scratch, Transpose transpose) const {
  if constexpr (std::is_same_v<In, T>) {
    return view(scores, stride_, transpose);
  } else {
    for (std::size_t i = 0; i < at.rows; ++i) {
      round_to_bf16(scores + i * stride_, piece.keys, scratch.operand + i * stride_);
    }
    return view<In>(scratch.operand, stride_, transpose);
  }
}

// The transposed heads of x if several blocks of queries multiply by them, which saves packing them
// for each block; else an empty tensor.
template <class T, class In>
Tensor<In> AttentionKernel<T, In>::transposed(const Tokens<const In>& x) const {
  if (sizes_.queries <= block_rows_) return {};
  return transposed_heads(x, sizes_, kPiece, stride_);
}

// x packed into `memory` if several blocks of queries read it; else x itself.
template <class T, class In>
Tokens<const In> AttentionKernel<T, In>::packed(const Tokens<const In>& x,
                                                Tensor<In>& memory) const {
  return sizes_.queries <= block_rows_ ? x : packed_heads(x, sizes_, memory);
}

// scores = factor X K^T for the block's rows of X, `row` elements apart, and a piece of the keys.
// The bits are the same with and without `transposed`.
template <class T, class In>
void AttentionKernel<T, In>::multiply_by_keys(const In* x, std::size_t row,
                                              const Tokens<const In>& keys,
                                              const Tensor<In>& transposed, T factor,
                                              const Block& at, const Piece& piece,
                                              T* scores) const {
  MatrixView<In> k = view(keys.head(at.b, at.h) + piece.first * keys.row, keys.row, Transpose::yes);
  if (transposed.dimension() > 0) {
    const std::size_t pieces = transposed.shape()[1], size = transposed.shape()[2];
    const std::size_t head = at.b * sizes_.heads + at.h;
    k = view(transposed.data() + (head * pieces + piece.first / kPiece) * size, stride_);
  }
  gemm(at.rows, piece.keys, keys.width, factor, view(x + at.begin * row, row), k, T(0), scores,
       stride_);
}

// s = scale Q K^T + bias; -inf for hidden keys.
template <class T, class In>
void AttentionKernel<T, In>::compute_scores(const AttentionInputs<T, In>& in,
                                            const Tensor<In>& transposed_k, const Block& at,
                                            const Piece& piece, T* s) const {
  multiply_by_keys(in.q.head(at.b, at.h), in.q.row, in.k, transposed_k, scale_, at, piece, s);
  pad_rows(s, at.rows, stride_, piece.keys, kHidden<T>);
  if (in.bias.data)
    add_bias(in.bias, at.b, at.h, at.begin, at.rows, piece.first, piece.keys, s, stride_);
  hide_keys(at, piece.first, piece.keys, s);
}

// Sets the scores s of keys [first, first + keys) to -inf where the query may not see the key.
template <class T, class In>
void AttentionKernel<T, In>::hide_keys(const Block& at, std::size_t first, std::size_t keys,
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
template <class T, class In>
const T* AttentionKernel<T, In>::dropout_row(const Block& at, const Piece& piece, std::size_t row,
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

template <class T, class In>
std::size_t AttentionKernel<T, In>::first_normaliser(const Block& at) const {
  return 2 * ((at.b * sizes_.heads + at.h) * sizes_.queries + at.begin);
}

template <class T, class In>
void AttentionKernel<T, In>::forward(const AttentionInputs<T, In>& in, const Tokens<T>& y) {
  normalisers_ = empty<T>({sizes_.batch, sizes_.heads, sizes_.queries, 2});
  const Tensor<In> k = transposed(in.k);
  Tensor<In> memory;
  const AttentionInputs<T, In> x{in.q, in.k, packed(in.v, memory), in.bias};
  for_each_block(in.q.width + in.v.width, false, [&](const Block& at, const Scratch& scratch) {
    forward_block(x, k, at, y, scratch);
  });
}

template <class T, class In>
void AttentionKernel<T, In>::forward_block(const AttentionInputs<T, In>& in,
                                           const Tensor<In>& transposed_k, const Block& at,
                                           const Tokens<T>& y, const Scratch& scratch) {
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
        return exponentials(row + offset, padded<T>(piece.keys), largest, factor);
      });
    });
    normalisers[2 * i] = largest;
    normalisers[2 * i + 1] = sum == T(0) ? T(0) : T(1) / sum;  // 0 if all keys are hidden
  }
  for_each_piece(at, [&](const Piece& piece, std::size_t offset) {
    gemm(at.rows, y.width, piece.keys, T(1),
         operand(scratch.scores + offset, at, piece, scratch, Transpose::no),
         view(in.v.head(at.b, at.h) + piece.first * in.v.row, in.v.row), T(piece.first > 0), out,
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
template <class T, class In>
void AttentionKernel<T, In>::backward(const AttentionInputs<T, In>& in, const Tokens<const In>& y,
                                      const Tokens<const In>& dy,
                                      const AttentionGradients<T>& d) const {
  const Tensor<In> k = transposed(in.k), v = transposed(in.v);
  Tensor<In> memory;
  const AttentionInputs<T, In> x{in.q, packed(in.k, memory), in.v, in.bias};
  for_each_block(2 * (in.q.width + in.v.width), true, [&](const Block& at, const Scratch& scratch) {
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

template <class T, class In>
void AttentionKernel<T, In>::backward_block(const AttentionInputs<T, In>& in,
                                            const Tensor<In>& transposed_k,
                                            const Tensor<In>& transposed_v, const Block& at,
                                            const Tokens<const In>& y, const Tokens<const In>& dy,
                                            const AttentionGradients<T>& d,
                                            const Scratch& scratch) const {
  const In* q = in.q.head(at.b, at.h) + at.begin * in.q.row;
  const In* dout = dy.head(at.b, at.h) + at.begin * dy.row;
  const In* out = y.data == nullptr ? nullptr : y.head(at.b, at.h) + at.begin * y.row;
  T *s = scratch.scores, *ds = scratch.dscores;
  const T later = at.begin == 0 ? T(0) : T(1);  // later blocks of a head add to dk and dv
  for (std::size_t i = 0; i < at.rows; ++i) {
    if (out == nullptr) {
      scratch.means[i] = T(0);
      continue;
    }
    scratch.means[i] = sum_terms<T>(
        y.width, [&](std::size_t c) { return T(dout[i * dy.row + c]) * T(out[i * y.row + c]); });
  }
  for_each_piece(at, [&](const Piece& piece, std::size_t) {
    const std::size_t first = piece.first, n = piece.keys;
    compute_scores(in, transposed_k, at, piece, s);
    multiply_by_keys(dy.head(at.b, at.h), dy.row, in.v, transposed_v, T(1), at, piece, ds);
    pad_rows(ds, at.rows, stride_, n, T(0));
    differentiate_softmax(at, piece, d.scores, scratch);
    if (d.v.data) {
      gemm(n, y.width, at.rows, T(1), operand(s, at, piece, scratch, Transpose::yes),
           view(dout, dy.row), std::max(later, d.v.beta), d.v.head(at.b, at.h) + first * d.v.row,
           d.v.row);
    }
    if (!d.q.data && !d.k.data) return;
    const MatrixView<In> gradient = operand(ds, at, piece, scratch, Transpose::no);
    if (d.q.data) {
      gemm(at.rows, in.q.width, n, scale_, gradient,
           view(in.k.head(at.b, at.h) + first * in.k.row, in.k.row), first > 0 ? T(1) : d.q.beta,
           d.q.head(at.b, at.h) + at.begin * d.q.row, d.q.row);
    }
    if (d.k.data) {
      gemm(n, in.q.width, at.rows, scale_, view(gradient.data, stride_, Transpose::yes),
           view(q, in.q.row), std::max(later, d.k.beta), d.k.head(at.b, at.h) + first * d.k.row,
           d.k.row);
    }
  });
}

// Replaces scores by probabilities after dropout, and gradients of those by gradients of the
// scores, p (ds - mean). Where one p is nearly 1, ds - mean cancels and leaves the rounding error
// of the mean. That error is the mean of the differences, weighted by p, so it is subtracted too,
// except for several pieces, where it would need the differences of all pieces at once. Without the
// result the mean is taken for 0, and the error is the mean.
template <class T, class In>
void AttentionKernel<T, In>::differentiate_softmax(const Block& at, const Piece& piece, T* dscores,
                                                   const Scratch& scratch) const {
  const T* normalisers = normalisers_.data() + first_normaliser(at);
  const std::size_t n = padded<T>(piece.keys);
  for (std::size_t i = 0; i < at.rows; ++i) {
    T *row = scratch.scores + i * stride_, *drow = scratch.dscores + i * stride_;
    with_factors(dropout_row(at, piece, i, scratch.factors), [&](const auto& factor) {
      const T error = differences(row, drow, n, normalisers + 2 * i, scratch.means[i], factor);
      gradients(row, drow, n, piece.keys == at.keys ? error : T(0), factor);
    });
    if (!dscores) continue;
    std::copy_n(drow, piece.keys,
                dscores + (first_normaliser(at) / 2 + i) * sizes_.keys + piece.first);
  }
}

#define XGRAD_INSTANTIATE(T) template class AttentionKernel<T, T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)
template class AttentionKernel<float, Bf16>;

}  // namespace xgrad::detail
