// ActivationTaker: reads the intermediate values of a model at named places, and may replace them.
#pragma once

#include <cstdint>
#include <string_view>

#include <xgrad/layers/module.hpp>

namespace xgrad {

/// A place in a forward pass.
struct ActivationPlace {
  std::uint64_t module;        ///< Scope::id() of the module
  const char* name;            ///< name of the activation
  SharedMask query_mask = {};  ///< in attention: (B, N), 1 = not padding; null: no padding
  bool cross = false;          ///< in attention: the keys are those of another sequence
};

/// Base class of ActivationTaker<T> for all T, so that Context needs no scalar type.
class ActivationObserver {
 public:
  virtual ~ActivationObserver() = default;
  /// Whether to call take() for activations of this name.
  virtual bool wants(std::string_view /*name*/) const { return true; }
};

/// Receives the activations of a model as the forward pass computes them. Pass one to a model as
/// Context::activations. Their names are
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
///         weights             (B, H, N, M)    the attention weights, before dropout
///         head_outputs        (B, N, H d_v)   what the output projection reads
///     of a layer of a WindowMlp
///         mlp_hidden          (B, N, F)       after the activation
///
/// In post-norm order the residual stream is what the norms return. Attention stores its scores if
/// scores or weights are wanted, so it takes more memory than the fused operation. An Encoder does
/// not recompute its blocks while it is observed.
template <class T>
class ActivationTaker : public ActivationObserver {
 public:
  /// Returns x, or a value of the same shape with which the forward pass goes on.
  virtual Variable<T> take(const ActivationPlace& place, const Variable<T>& x) = 0;
};

/// Whether the observer of `context` wants activations of this name.
inline bool observes(const Context& context, std::string_view name) {
  return context.activations != nullptr && context.activations->wants(name);
}

/// Called by layers. Returns what the observer of `context` returns for x, or x if none wants it.
/// Throws ShapeError, which names the activation, if the returned shape differs; Error if the
/// observer is not an ActivationTaker<T>.
template <class T>
Variable<T> observe_activation(const Context& context, const ActivationPlace& place,
                               const Variable<T>& x);

}  // namespace xgrad
