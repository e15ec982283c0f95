// MultiHeadAttention: project to queries, keys and values, attend in every head, project back.
#pragma once

#include <array>
#include <optional>

#include <xgrad/layers/attention/weights.hpp>
#include <xgrad/layers/layers.hpp>
#include <xgrad/layers/positions.hpp>

namespace xgrad {

/// Sizes and settings of a MultiHeadAttention.
struct MultiHeadAttentionOptions {
  std::size_t width = 0;                        ///< D, width of a token
  std::size_t heads = 1;                        ///< H, number of heads
  std::size_t head_dim = 0;                     ///< d_h, per head: width of q and k; 0: D / H
  std::size_t value_dim = 0;                    ///< d_v, per head: width of v; 0: d_h
  std::size_t key_width = 0;                    ///< width of the input to keys; 0: D
  std::size_t value_width = 0;                  ///< width of the input to values; 0: D
  double dropout = 0;                           ///< dropout rate of the weights
  bool qkv_bias = false;                        ///< bias of q, k and v
  bool out_proj = true;                         ///< if false, the result is (B, N, H d_v)
  bool out_bias = true;                         ///< bias of the output projection
  std::optional<double> scale = std::nullopt;   ///< factor of the scores; default: see Score
  AttentionWeightOptions weights = {};          ///< score and activation functions
  PositionKind positions = PositionKind::none;  ///< only rotary, alibi, relative_bias act here
  std::size_t max_distance = 32;                ///< relative_bias clips distances to this
  bool cross_positions = false;                 ///< rotary acts in cross-attention, too
  bool causal = false;                          ///< token i sees the tokens 0 ... i only
  bool exclude_self = false;                    ///< a token does not see itself
};

/// Keys and values that an attention layer has computed, kept for the tokens that follow.
template <class T>
struct KVCache {
  Variable<T> keys;    ///< (B, n, H d_h); undefined before the first token
  Variable<T> values;  ///< (B, n, H d_v); undefined before the first token

  /// The number n of tokens.
  std::size_t size() const { return keys.defined() ? keys.shape()[1] : 0; }
  /// Row b becomes the old row rows[b]. `rows` may repeat or omit rows.
  void select(const Ids& rows) {
    if (!keys.defined()) return;
    keys = take(keys, 0, rows);
    values = take(values, 0, rows);
  }
};

/// Concat(head_1 ... head_H) W_O with head_i = weights(Q_i, K_i) V_i, by default softmax(scale Q_i
/// K_i^T) V_i (Vaswani et al. 2017).
///
/// Parameters, named as in PyTorch's nn.MultiheadAttention, which lacks score_weight and biases of
/// positions (layers/positions.hpp):
///
///     in_proj_weight   (3 H d_h, D)          rows of q, then k, then v
///     q_proj_weight    (H d_h, D)            see below
///     k_proj_weight    (H d_h, key_width)    see below
///     v_proj_weight    (H d_v, value_width)  see below
///     in_proj_bias     (H (2 d_h + d_v))     with qkv_bias
///     out_proj.weight  (D, H d_v)            with out_proj
///     out_proj.bias    (D)                   with out_proj and out_bias
///     score_weight     (H, d_h)              with Score::additive
///
/// If key_width or value_width is not D, or d_v is not d_h, q_proj_weight, k_proj_weight and
/// v_proj_weight replace in_proj_weight.
template <class T>
class MultiHeadAttention {
 public:
  /// Makes its parameters. Their names begin with scope.path(). Throws ShapeError when H is 0, or
  /// when head_dim is 0 and H does not divide D.
  MultiHeadAttention(const Scope<T>& scope, const MultiHeadAttentionOptions& options);

  /// Self-attention: x (B, N, D) -> (B, N, D). If given, `bias` is added to the scores. It must
  /// broadcast to (B, H, N, M) for M keys; here M = N. `query_mask` (B, N), 1 = not padding,
  /// does not change the result: it tells the observer context.activations which queries are
  /// padding. If it is null, masks.key_mask tells this.
  Variable<T> operator()(const Variable<T>& x, const AttentionMasks& masks, const Context& context,
                         const Variable<T>& bias = {},
                         const SharedMask& query_mask = nullptr) const;
  /// Cross-attention: query (B, N, D), key (B, M, key_width), value (B, M, value_width) -> (B, N,
  /// D). It ignores causal and exclude_self. It applies positions only if they are rotary and
  /// cross_positions is set; the positions of each sequence start at 0. With causal, exclude_self
  /// and positions off, passing x as query, key and value gives the self-attention of x.
  Variable<T> operator()(const Variable<T>& query, const Variable<T>& key, const Variable<T>& value,
                         const AttentionMasks& masks, const Context& context,
                         const Variable<T>& bias = {},
                         const SharedMask& query_mask = nullptr) const;

  // For decoding. The functions below have no Context: they use no dropout and report no
  // activations. Their results have the same bits as the results of the functions above. Without a
  // NoGrad, they record a graph.

  /// Causal self-attention: x (B, N, D) -> (B, N, D), where x are the tokens that follow the tokens
  /// of `cache`. Appends the keys and values of x to `cache`, so that a token costs O(n). Throws
  /// ShapeError when the cache is not empty and N is not 1.
  Variable<T> decode_step(const Variable<T>& x, KVCache<T>& cache) const;
  /// The keys and values of `memory` (B, M, key_width), for cross_decode_step().
  KVCache<T> project_memory(const Variable<T>& memory) const;
  /// Cross-attention: query (B, N, D) -> (B, N, D). `memory` is the result of project_memory(). The
  /// first token of `query` has the position `first`.
  Variable<T> cross_decode_step(const Variable<T>& query, std::size_t first,
                                const KVCache<T>& memory, const AttentionMasks& masks) const;

  /// The projection of queries, (H d_h, D).
  Tensor<T> w_q() const { return projection(0).value(); }
  /// The projection of keys, (H d_h, key_width).
  Tensor<T> w_k() const { return projection(1).value(); }
  /// The projection of values, (H d_v, value_width).
  Tensor<T> w_v() const { return projection(2).value(); }

 private:
  Variable<T> projection(std::size_t part) const;
  Variable<T> project(const Variable<T>& x, std::size_t part) const;
  std::array<Variable<T>, 3> project_all(const Variable<T>& x) const;
  Variable<T> rotated(const Variable<T>& x, std::size_t heads, std::size_t first = 0,
                      bool cross = false) const;
  AttentionOptions attention_options(const AttentionMasks& masks, const Context& context,
                                     bool cross) const;
  Variable<T> attend(const std::array<Variable<T>, 3>& inputs, const AttentionOptions& options,
                     const Variable<T>& bias, const Context& context, const SharedMask& query_mask,
                     bool cross) const;
  Variable<T> finish(const Variable<T>& y, const Context& context) const;

  MultiHeadAttentionOptions options_;
  std::uint64_t id_;
  Variable<T> in_weight_;                // in_proj_weight; undefined when separate_ is used
  std::array<Variable<T>, 3> separate_;  // q_proj_weight, k_proj_weight, v_proj_weight
  Variable<T> in_bias_;
  Variable<T> score_weight_;
  std::optional<Linear<T>> out_;
  std::optional<PositionBias<T>> position_bias_;
};

}  // namespace xgrad
