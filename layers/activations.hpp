// ActivationTaker: reads the intermediate values of a model at named sites, and may replace them.
#pragma once

#include <xgrad/layers/module.hpp>

namespace xgrad {

/// Base class of ActivationTaker<T> for all T, so that Context needs no scalar type.
class ActivationObserver {
 public:
  virtual ~ActivationObserver() = default;
};

/// Receives the activations of a model as the forward pass computes them. Pass one to a model as
/// Context::activations. `site` identifies the module (Scope::site()) and `name` the activation:
///
///     of a block of an Encoder or a Decoder
///         residual_before     (B, N, D)       residual stream in front of the block
///         residual_middle     (B, N, D)       after the sublayer of self-attention
///         residual_cross      (B, N, D)       Decoder only: after that of cross-attention
///         mlp_hidden          (B, N, F)       after the activation of the MLP
///         residual_after      (B, N, D)       behind the block
///     of a MultiHeadAttention
///         queries, keys       (B, N, H d)     as projected, before rotary positions
///         values              (B, N, H d_v)   as projected
///         scores              (B, H, N, M)    scaled, with the bias of positions, before masks
///         head_outputs        (B, N, H d_v)   what the output projection reads
///     of a layer of a WindowMlp
///         mlp_hidden          (B, N, F)       after the activation
///
/// In post-norm order the residual stream is what the norms return. Attention stores its scores
/// while it is observed, so it takes more memory than the fused operation, and an Encoder does not
/// recompute its blocks.
template <class T>
class ActivationTaker : public ActivationObserver {
 public:
  /// Returns x, or a value of the same shape with which the forward pass goes on.
  virtual Variable<T> take(std::uint64_t site, const char* name, const Variable<T>& x) = 0;
};

/// Called by layers. Returns what the observer of `context` returns for x, or x without one. Throws
/// ShapeError, which names the activation, if the returned shape differs; Error if the observer is
/// not an ActivationTaker<T>.
template <class T>
Variable<T> observe_activation(const Context& context, std::uint64_t site, const char* name,
                               const Variable<T>& x);

}  // namespace xgrad
