// MultiHeadAttention: project to queries, keys and values, attend in every head, project back.
#pragma once

#include <optional>

#include <xgrad/layers/linear.hpp>
#include <xgrad/layers/position_bias.hpp>

namespace xgrad {

struct AttentionOptions {
  std::size_t width = 0;                        ///< D
  std::size_t heads = 1;                        ///< H
  std::size_t head_dim = 0;                     ///< d_h; 0: D / H
  double dropout = 0;                           ///< on the attention probabilities
  bool qkv_bias = false;                        ///< S0.13: none on q, k and v ...
  bool out_bias = true;                         ///< ... but one on the output
  std::optional<double> scale = std::nullopt;   ///< default 1/sqrt(d_h)
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

/// Concat(head_1 ... head_H) W_O with head_i = softmax(scale Q_i K_i^T) V_i (S0.4 to S0.15; Vaswani
/// et al. 2017).
///
/// Parameters as PyTorch's nn.MultiheadAttention names them: in_proj_weight (3 H d_h, D), rows q,
/// then k, then v; in_proj_bias (3 H d_h) if wanted; out_proj.weight (D, H d_h); out_proj.bias (D)
/// if wanted.
template <class T>
class MultiHeadAttention {
 public:
  /// Throws ShapeError when heads do not divide the width and head_dim is not given.
  MultiHeadAttention(const Scope<T>& scope, const AttentionOptions& options);

  /// Self-attention: x (B, N, D) -> (B, N, D).
  Variable<T> operator()(const Variable<T>& x, const Attend<T>& attend,
                         const Context& context) const;
  /// Cross-attention: queries from x (B, N, D), keys and values from memory (B, M, D) -> (B, N, D).
  /// Positions do not act here.
  Variable<T> operator()(const Variable<T>& x, const Variable<T>& memory, const Attend<T>& attend,
                         const Context& context) const;

  /// Row views of the packed projection, (H d_h, D) each: w_q, w_k, w_v of S0.4.
  Tensor<T> w_q() const { return projection(0); }
  Tensor<T> w_k() const { return projection(1); }
  Tensor<T> w_v() const { return projection(2); }

 private:
  Tensor<T> projection(std::size_t third) const;
  Variable<T> project(const Variable<T>& x, std::size_t first, std::size_t parts) const;
  Attention attention_of(const Attend<T>& attend, const Context& context) const;

  AttentionOptions options_;
  std::uint64_t site_;
  Variable<T> in_weight_;
  Variable<T> in_bias_;
  Linear<T> out_;
  PositionBias<T> position_bias_;
};

}  // namespace xgrad
