#include <xgrad/autograd/kernels/attention_kernel.hpp>

#include <algorithm>
#include <vector>

#include <xgrad/autograd/kernels/attention_scores.hpp>
#include <xgrad/autograd/kernels/operands.hpp>
#include <xgrad/autograd/parallel.hpp>

namespace xgrad::detail {

namespace {

constexpr std::size_t kBlockElements = 65536;  // scores in a block: they fit the L2 cache
constexpr std::size_t kMinRows = 96;          // minimum rows of a block: products of fewer are slow
constexpr std::size_t kChunkElements = 4096;  // dropout factors in a chunk: they fit the L1 cache
constexpr std::size_t kTaskWork = 1 << 18;    // minimum multiplications of a parallel task

template <class T>
class Kernel {
 public:
  Kernel(const AttentionProblem& problem, const AttentionInputs<T>& in, T* normalisers)
      : p_(problem),
        in_(in),
        heads_(problem.options.heads),
        scale_(attention_scale<T>(problem.options, problem.key_width)),
        stride_((std::clamp<std::size_t>(problem.keys, 1, kPieceKeys) + 15) / 16 * 16),
        block_rows_(
            std::min(std::max(kBlockElements / std::max<std::size_t>(1, problem.keys), kMinRows),
                     std::max<std::size_t>(1, problem.queries))),
        normalisers_(normalisers),
        keys_(problem.batch, problem.keys),
        gaps_(problem.batch, 0) {
    if (!masks().key_mask) return;
    for (std::size_t b = 0; b < p_.batch; ++b) {
      const std::uint8_t* keep = masks().key_mask->data() + b * p_.keys;
      while (keys_[b] > 0 && !keep[keys_[b] - 1]) --keys_[b];
      gaps_[b] = std::find(keep, keep + keys_[b], 0) != keep + keys_[b];
    }
  }

  void forward(const Tokens<T*>& y) {
    transpose_heads(in_.k, transposed_k_);
    pack_heads(in_.v);
    for_each_block(in_.q.width + in_.v.width, false,
                   [&](const Block& at, const Scratch& scratch) { forward_block(at, y, scratch); });
  }

  // For one head: S = scale Q K^T + bias, P = softmax(S) and Y = (F P) V, with dropout factors F.
  // Products with F, and P (...), are elementwise. Then
  //   d(F P) = dY V^T,  dS = P (F d(F P) - D) with D_i = sum_j P_ij F_ij d(F P)_ij = dY_i . Y_i,
  //   dV = (F P)^T dY,  dQ = scale dS K,  dK = scale dS^T Q,  dbias = dS.
  // P is recomputed from S and the normalisers. Fully masked rows have gradient 0.
  void backward(const InputTokens<T>& y, const InputTokens<T>& dy, const AttentionGradients<T>& d) {
    transpose_heads(in_.k, transposed_k_);
    transpose_heads(in_.v, transposed_v_);
    pack_heads(in_.k);
    for_each_block(2 * (in_.q.width + in_.v.width), true,
                   [&](const Block& at, const Scratch& scratch) {
                     if (at.begin == 0) {
                       zero_rows(d.k, at.b, at.h, at.keys, p_.keys);
                       zero_rows(d.v, at.b, at.h, at.keys, p_.keys);
                     }
                     if (at.keys == 0) {
                       zero_rows(d.q, at.b, at.h, at.begin, at.begin + at.rows);
                     } else {
                       backward_block(at, y, dy, d, scratch);
                     }
                   });
  }

 private:
  // Query rows [begin, begin + rows) of head h of sample b. They see only keys [0, keys).
  // `normalisers` points to those of the first row.
  struct Block {
    std::size_t b, h, begin, rows, keys;
    T* normalisers;
  };
  // Keys [first, first + keys) of a block, whose scores are contiguous and begin at `offset`.
  struct Piece {
    std::size_t first, keys, offset;
  };
  // The work space of a thread. `scores`: (pieces, block_rows_, stride_); in backward, a single
  // piece. `factors`: dropout factors of some rows. `dscores` and `means`, in backward only: the
  // gradients of the scores, and dY_i . Y_i for each row of a block. `operand`: a piece of scores
  // or of their gradients, rounded to Bf16.
  struct Scratch {
    T *scores, *factors, *dscores, *means;
    Bf16* operand;
  };

  const AttentionMasks& masks() const { return p_.options.masks; }

  template <class Body>
  void for_each_piece(const Block& at, const Body& body) const {
    for (std::size_t first = 0; first < at.keys; first += kPieceKeys) {
      body(Piece{first, std::min(kPieceKeys, at.keys - first),
                 first / kPieceKeys * block_rows_ * stride_});
    }
  }

  // Calls body(block, scratch) for all blocks in parallel. In backward, the blocks of a head run in
  // order on one thread, since they add to the same dk and dv.
  template <class Body>
  void for_each_block(std::size_t width, bool backward, const Body& body) const {
    // Blocks per head; without queries one empty block, so that gradients are still written.
    const std::size_t a_head =
        std::max<std::size_t>(1, (p_.queries + block_rows_ - 1) / block_rows_);
    const std::size_t work = block_rows_ * p_.keys * width;
    const std::size_t size = (backward ? 1 : pieces_of(p_.keys)) * block_rows_ * stride_;
    const std::size_t factors_size = kChunkElements + padded<T>(p_.keys);
    const Shape room{size + factors_size + (backward ? size + block_rows_ : 0)};
    const Shape operand_room{p_.bf16 ? block_rows_ * stride_ : 0};
    std::size_t grain = std::max<std::size_t>(1, kTaskWork / std::max<std::size_t>(1, work));
    if (backward) grain = (grain + a_head - 1) / a_head * a_head;
    parallel_for(p_.batch * heads_ * a_head, grain, [&](std::size_t begin, std::size_t end) {
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

  Block block(std::size_t head, std::size_t begin) const {
    const std::size_t b = head / heads_, rows = std::min(block_rows_, p_.queries - begin);
    const std::size_t keys = p_.options.causal ? std::min(keys_[b], begin + rows) : keys_[b];
    return {b, head % heads_, begin, rows, keys, normalisers_ + 2 * (head * p_.queries + begin)};
  }

  // The block's scores of a piece as an operand: themselves, or rounded copies in the scratch.
  MatrixView<T> operand(const T* scores, const Block& at, const Piece& piece,
                        const Scratch& scratch, Transpose transpose) const {
    if (!p_.bf16) return {scores, stride_, transpose};
    for (std::size_t i = 0; i < at.rows; ++i) {
      round_to_bf16(scores + i * stride_, piece.keys, scratch.operand + i * stride_);
    }
    return {scratch.operand, stride_, transpose};
  }

  // Makes a tensor of `shape` whose elements have the type of those in x. Fills it in parallel:
  // calls copy(part of the tensor, first token of x) for each head of each sample.
  template <class Copy>
  Operand<T> copied(const InputTokens<T>& x, const Shape& shape, const Copy& copy) const {
    const auto copied_as = [&]<class E>(E) {
      const auto result = std::make_shared<Tensor<E>>(empty<E>(shape));
      const std::size_t heads = p_.batch * heads_;
      const std::size_t size = result->size() / std::max<std::size_t>(1, heads);
      parallel_for(heads, 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
          copy(result->data() + i * size, x.head(i / heads_, i % heads_).template of<E>());
        }
      });
      return Operand<T>(Saved<E>(result));
    };
    return x.data.is_bf16() ? copied_as(Bf16()) : copied_as(T());
  }

  // Copies keys or values, transposed and cut into pieces of keys per head: (batch heads, pieces,
  // width stride_). Does so only if several blocks of queries multiply by them: without the copy,
  // they would be packed again for each block.
  void transpose_heads(const InputTokens<T>& x, Operand<T>& to) const {
    if (p_.queries <= block_rows_) return;
    const std::size_t size = x.width * stride_;
    const Shape shape{p_.batch * heads_, pieces_of(p_.keys), size};
    to = copied(x, shape, [&](auto* all, auto* from) {
      for (std::size_t key = 0; key < p_.keys; ++key, from += x.row) {
        auto* out = all + key / kPieceKeys * size + key % kPieceKeys;
        for (std::size_t c = 0; c < x.width; ++c) out[c * stride_] = from[c];
      }
    });
  }

  // If several blocks of queries read the keys or values, replaces them by a copy in which the rows
  // of each head are contiguous. Rows that lie far apart would compete for the same cache sets.
  void pack_heads(InputTokens<T>& x) {
    if (p_.queries <= block_rows_) return;
    const Shape shape{p_.batch, heads_, p_.keys, x.width};
    packed_ = copied(x, shape, [&](auto* to, auto* from) {
      for (std::size_t key = 0; key < p_.keys; ++key, from += x.row, to += x.width) {
        std::copy_n(from, x.width, to);
      }
    });
    const std::size_t size = p_.keys * x.width;
    x = {packed_.data(), heads_ * size, size, x.width, x.width};
  }

  // scores = factor X K^T for the block's rows of X and a piece of the keys. The bits are the same
  // with and without `transposed`.
  void multiply_by_keys(const InputTokens<T>& x, const InputTokens<T>& keys,
                        const Operand<T>& transposed, T factor, const Block& at, const Piece& piece,
                        T padding, T* scores) const {
    MatrixView<T> k{keys.head(at.b, at.h) + piece.first * keys.row, keys.row, Transpose::yes};
    if (transposed) {
      const std::size_t size = keys.width * stride_, head = at.b * heads_ + at.h;
      const std::size_t place = head * pieces_of(p_.keys) + piece.first / kPieceKeys;
      k = {transposed.data() + place * size, stride_};
    }
    gemm(at.rows, piece.keys, keys.width, factor, {x.head(at.b, at.h) + at.begin * x.row, x.row}, k,
         T(0), scores, stride_);
    // Pads every row up to whole lanes, so that loops over keys have no remainder.
    for (std::size_t i = 0; i < at.rows; ++i, scores += stride_)
      std::fill(scores + piece.keys, scores + padded<T>(piece.keys), padding);
  }

  // s = scale Q K^T + bias; -inf for keys that a query may not see.
  void compute_scores(const Block& at, const Piece& piece, T* s) const {
    multiply_by_keys(in_.q, in_.k, transposed_k_, scale_, at, piece, kHidden<T>, s);
    const auto& [first, keys, offset] = piece;
    const AttentionBias<T>& bias = in_.bias;
    for (std::size_t i = 0; i < at.rows; ++i, s += stride_) {
      const std::size_t n = at.begin + i;
      const std::size_t place = at.b * bias.sample + at.h * bias.head + n * bias.row;
      if (bias.data) add_bias(s, bias.data + place + first * bias.key, bias.key, keys);
      if (gaps_[at.b]) hide(s, masks().key_mask->data() + at.b * p_.keys + first, keys);
      if (masks().mask) {
        hide(s, masks().mask->data() + (at.b * p_.queries + n) * p_.keys + first, keys);
      }
      if (p_.options.causal && n + 1 < first + keys) {
        std::fill(s + (n + 1 > first ? n + 1 - first : 0), s + keys, kHidden<T>);
      }
      if (p_.options.exclude_self && n >= first && n < first + keys) s[n - first] = kHidden<T>;
    }
  }

  // The dropout factors of a block's row for a piece of the keys; null without dropout. Computes
  // several rows at a time. Requires: called for the rows in order.
  const T* dropout_row(const Block& at, std::size_t first, std::size_t keys, std::size_t row,
                       T* buffer) const {
    const DropoutOptions& dropout = p_.options.dropout;
    if (dropout.p == 0) return nullptr;
    const std::size_t width = padded<T>(keys);
    const std::size_t chunk = std::max<std::size_t>(1, kChunkElements / width);
    if (row % chunk == 0) {
      dropout_factors(*dropout.rng, dropout.p, dropout.first_sample + std::uint32_t(at.b),
                      std::uint32_t(at.h), std::uint32_t(at.begin + row),
                      std::min(chunk, at.rows - row), width, buffer, width, first);
    }
    return buffer + row % chunk * width;
  }

  void forward_block(const Block& at, const Tokens<T*>& y, const Scratch& scratch) const {
    T* out = y.head(at.b, at.h) + at.begin * y.row;
    if (at.keys == 0) {
      for (std::size_t i = 0; i < at.rows; ++i) std::fill_n(out + i * y.row, y.width, T(0));
      return;
    }
    for_each_piece(
        at, [&](const Piece& piece) { compute_scores(at, piece, scratch.scores + piece.offset); });
    for (std::size_t i = 0; i < at.rows; ++i) {
      T* const row = scratch.scores + i * stride_;
      T largest = kHidden<T>, sum = 0;
      for_each_piece(at, [&](const Piece& piece) {
        largest = std::max(largest, row_max(row + piece.offset, padded<T>(piece.keys)));
      });
      if (largest == kHidden<T>) largest = T(0);
      const T* const factors = dropout_row(at, 0, at.keys, i, scratch.factors);
      for_each_piece(at, [&](const Piece& piece) {
        sum += with_factors(factors ? factors + piece.first : nullptr, [&](const auto& factor) {
          return exponentiate(row + piece.offset, padded<T>(piece.keys), largest, factor);
        });
      });
      at.normalisers[2 * i] = largest;
      at.normalisers[2 * i + 1] = sum == T(0) ? T(0) : T(1) / sum;  // 0 if all keys are hidden
    }
    for_each_piece(at, [&](const Piece& piece) {
      gemm(at.rows, y.width, piece.keys, T(1),
           operand(scratch.scores + piece.offset, at, piece, scratch, Transpose::no),
           {in_.v.head(at.b, at.h) + piece.first * in_.v.row, in_.v.row}, T(piece.first > 0), out,
           y.row);
    });
    for (std::size_t i = 0; i < at.rows; ++i) {
      T* row = out + i * y.row;
      const T inverse = at.normalisers[2 * i + 1];
#pragma omp simd
      for (std::size_t c = 0; c < y.width; ++c) row[c] *= inverse;
    }
  }

  // dY_n . Y_n; 0 if the result was not kept.
  T mean(const Block& at, std::size_t n, const InputTokens<T>& y, const InputTokens<T>& dy) const {
    if (!y.data) return T(0);
    const Elements<T> a = dy.head(at.b, at.h) + n * dy.row, b = y.head(at.b, at.h) + n * y.row;
    if constexpr (std::is_same_v<T, float>) {
      if (a.is_bf16()) return row_dot<T>(a.template of<Bf16>(), b.template of<Bf16>(), y.width);
    }
    return row_dot<T>(a.template of<T>(), b.template of<T>(), y.width);
  }

  void backward_block(const Block& at, const InputTokens<T>& y, const InputTokens<T>& dy,
                      const AttentionGradients<T>& d, const Scratch& scratch) const {
    const MatrixView<T> q{in_.q.head(at.b, at.h) + at.begin * in_.q.row, in_.q.row};
    const MatrixView<T> dout{dy.head(at.b, at.h) + at.begin * dy.row, dy.row};
    T *s = scratch.scores, *ds = scratch.dscores;
    const T later = at.begin == 0 ? T(0) : T(1);  // later blocks of a head add to dk and dv
    for (std::size_t i = 0; i < at.rows; ++i) scratch.means[i] = mean(at, at.begin + i, y, dy);
    for_each_piece(at, [&](const Piece& piece) {
      const std::size_t first = piece.first, n = piece.keys;
      compute_scores(at, piece, s);
      multiply_by_keys(dy, in_.v, transposed_v_, T(1), at, piece, T(0), ds);
      differentiate_softmax(at, piece, d.scores, scratch);
      if (d.v.data) {
        gemm(n, y.width, at.rows, T(1), operand(s, at, piece, scratch, Transpose::yes), dout,
             std::max(later, d.v.beta), d.v.head(at.b, at.h) + first * d.v.row, d.v.row);
      }
      if (!d.q.data && !d.k.data) return;
      const MatrixView<T> gradient = operand(ds, at, piece, scratch, Transpose::no);
      if (d.q.data) {
        gemm(at.rows, in_.q.width, n, scale_, gradient,
             {in_.k.head(at.b, at.h) + first * in_.k.row, in_.k.row}, first > 0 ? T(1) : d.q.beta,
             d.q.head(at.b, at.h) + at.begin * d.q.row, d.q.row);
      }
      if (d.k.data) {
        gemm(n, in_.q.width, at.rows, scale_, {gradient.data, stride_, Transpose::yes}, q,
             std::max(later, d.k.beta), d.k.head(at.b, at.h) + first * d.k.row, d.k.row);
      }
    });
  }

  // Replaces scores by probabilities after dropout, and the gradients of these by gradients of the
  // scores, p (ds - mean). If one p is nearly 1, ds - mean cancels and leaves the rounding error of
  // the mean. This error is the mean of ds - mean, weighted by p. It is subtracted too if the keys
  // are in a single piece; with several pieces, it would need the differences of all pieces at
  // once. If the result was not kept, scratch.means are 0, and the error computed here is the mean
  // itself.
  void differentiate_softmax(const Block& at, const Piece& piece, T* dscores,
                             const Scratch& scratch) const {
    const std::size_t n = padded<T>(piece.keys), head = at.b * heads_ + at.h;
    for (std::size_t i = 0; i < at.rows; ++i) {
      T *row = scratch.scores + i * stride_, *drow = scratch.dscores + i * stride_;
      const T* factors = dropout_row(at, piece.first, piece.keys, i, scratch.factors);
      const T* const normaliser = at.normalisers + 2 * i;
      const T mean = scratch.means[i];
      with_factors(factors, [&](const auto& factor) {
        if (piece.keys == at.keys) {
          const T error = subtract_mean(row, drow, n, normaliser, mean, factor);
          differentiate(row, drow, n, error, factor);
        } else {
          differentiate_piece(row, drow, n, normaliser, mean, factor);
        }
      });
      if (!dscores) continue;
      std::copy_n(drow, piece.keys,
                  dscores + (head * p_.queries + at.begin + i) * p_.keys + piece.first);
    }
  }

  const AttentionProblem& p_;
  AttentionInputs<T> in_;
  std::size_t heads_;
  T scale_;
  std::size_t stride_;      // distance between rows of scores in a piece
  std::size_t block_rows_;  // query rows in a block
  T* normalisers_;
  std::vector<std::size_t> keys_;   // per sample: all keys from this one on are masked
  std::vector<std::uint8_t> gaps_;  // per sample: whether an earlier key is masked too
  Operand<T> transposed_k_, transposed_v_, packed_;
};

}  // namespace

bool AttentionProblem::needs_result() const {
  return !bf16 || keys > kPieceKeys;
}

template <class T>
Tensor<T> attention_forward(const AttentionProblem& problem, const AttentionInputs<T>& in,
                            const Tokens<T*>& y) {
  Tensor<T> normalisers = empty<T>({problem.batch, problem.options.heads, problem.queries, 2});
  Kernel<T>(problem, in, normalisers.data()).forward(y);
  return normalisers;
}

template <class T>
void attention_backward(const AttentionProblem& problem, const Tensor<T>& normalisers,
                        const AttentionInputs<T>& in, const InputTokens<T>& y,
                        const InputTokens<T>& dy, const AttentionGradients<T>& d) {
  // Backward only reads them.
  Kernel<T>(problem, in, const_cast<T*>(normalisers.data())).backward(y, dy, d);
}

#define XGRAD_INSTANTIATE(T)                                    \
  template decltype(attention_forward<T>) attention_forward<T>; \
  template decltype(attention_backward<T>) attention_backward<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad::detail
