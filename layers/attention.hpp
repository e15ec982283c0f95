// MultiHeadAttention: project to queries, keys and values, attend in every head, project back.
#pragma once

#include <array>
#include <optional>

#include <xgrad/layers/attention_weights.hpp>
#include <xgrad/layers/linear.hpp>
#include <xgrad/layers/position_bias.hpp>

namespace xgrad {

/// What a MultiHeadAttention is made of.
struct AttentionOptions {
  std::size_t width = 0;                        ///< D
  std::size_t heads = 1;                        ///< H
  std::size_t head_dim = 0;                     ///< d_h, of queries and keys; 0: D / H
  std::size_t value_dim = 0;                    ///< d_v, of values; 0: d_h (S2.11)
  std::size_t key_width = 0;                    ///< of what keys are made of; 0: D (S2.2)
  std::size_t value_width = 0;                  ///< of what values are made of; 0: D
  double dropout = 0;                           ///< on the weights
  bool qkv_bias = false;                        ///< S0.13: none on q, k and v ...
  bool out_proj = true;                         ///< S4.19: without it the result is (B, N, H d_v)
  bool out_bias = true;                         ///< ... but one on the output
  std::optional<double> scale = std::nullopt;   ///< of the scores; its default is that of Score
  WeightOptions weights = {};                   ///< scores, and what is made of them
  PositionKind positions = PositionKind::none;  ///< those that act in attention
  std::size_t max_distance = 32;                ///< K of relative_bias
  bool causal = false;                          ///< token i sees the tokens 0 ... i only
  bool exclude_self = false;                    ///< a token does not see itself (S4.14)
};

/// What the queries of a batch may attend to, and what is added to their scores (S2.10). Absent
/// parts hide and add nothing.
template <class T>
struct Attend {
  std::shared_ptr<const Mask> key_mask = nullptr;  ///< (B, M), 1 = may be attended to
  std::shared_ptr<const Mask> mask = nullptr;      ///< (B, N, M), 1 = the query may see the key
  Variable<T> bias = {};                           ///< broadcasts to (B, H, N, M)
};

/// Concat(head_1 ... head_H) W_O with head_i = weights(Q_i, K_i) V_i, by default softmax(scale Q_i
/// K_i^T) V_i (S0.4 to S0.15; Vaswani et al. 2017).
///
/// Parameters as PyTorch's nn.MultiheadAttention names them: in_proj_weight (3 H d_h, D), rows q,
/// then k, then v; where widths or d_v differ, q_proj_weight (H d_h, D), k_proj_weight (H d_h,
/// key_width) and v_proj_weight (H d_v, value_width) instead; in_proj_bias (H (2 d_h + d_v)) if
/// wanted; out_proj.weight (D, H d_v) and out_proj.bias (D) if wanted; and for Score::additive
/// score_weight (H, d_h).
template <class T>
class MultiHeadAttention {
 public:
  /// Throws ShapeError when heads do not divide the width and head_dim is not given.
  MultiHeadAttention(const Scope<T>& scope, const AttentionOptions& options);

  /// Self-attention: x (B, N, D) -> (B, N, D).
  Variable<T> operator()(const Variable<T>& x, const Attend<T>& attend,
                         const Context& context) const;
  /// Cross-attention (S2.2): query (B, N, D), key (B, M, key_width), value (B, M, value_width) ->
  /// (B, N, D). Positions, causal and exclude_self do not act here; without them it is the
  /// self-attention of x where all three are x (S2.12).
  Variable<T> operator()(const Variable<T>& query, const Variable<T>& key, const Variable<T>& value,
                         const Attend<T>& attend, const Context& context) const;
  /// Cross-attention with one memory (B, M, D) as keys and values.
  Variable<T> operator()(const Variable<T>& x, const Variable<T>& memory, const Attend<T>& attend,
                         const Context& context) const {
    return (*this)(x, memory, memory, attend, context);
  }
  /// The weights of the values in the self-attention of x, before dropout, (B, H, N, N): stored and
  /// differentiable.
  Variable<T> weights(const Variable<T>& x, const Attend<T>& attend) const;

  /// What queries, keys and values are projected by: w_q, w_k, w_v of S0.4, (H d, width) each.
  Tensor<T> w_q() const { return projection(0).value(); }
  /// Of keys.
  Tensor<T> w_k() const { return projection(1).value(); }
  /// Of values.
  Tensor<T> w_v() const { return projection(2).value(); }

 private:
  Variable<T> projection(std::size_t part) const;
  Variable<T> project(const Variable<T>& x, std::size_t part) const;
  Variable<T> turned(const Variable<T>& x, std::size_t heads) const;
  Attention self(const Attend<T>& attend, const Context& context) const;
  Attention cross(const Attend<T>& attend, const Context& context) const;
  Variable<T> self_bias(const Attend<T>& attend, std::size_t tokens) const;
  Variable<T> observed(const Variable<T>& y, const Variable<T>& q, const Variable<T>& k,
                       const Attention& how, const Variable<T>& bias, const Context& context) const;
  Variable<T> finish(const Variable<T>& y) const { return out_ ? (*out_)(y) : y; }

  AttentionOptions options_;
  std::uint64_t site_;
  Variable<T> in_weight_;                // packed, or ...
  std::array<Variable<T>, 3> separate_;  // ... of q, k and v
  Variable<T> in_bias_;
  Variable<T> score_weight_;
  std::optional<Linear<T>> out_;
  std::optional<PositionBias<T>> position_bias_;
};

}  // namespace xgrad
