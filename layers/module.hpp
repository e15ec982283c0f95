// Context: how a forward pass runs (training or not, random numbers), and who observes activations.
//
// A layer is a class that holds its parameters and has a call operator. Layers have no virtual
// forward, since their signatures differ; only whole models share a base class, SequenceModel
// (model.hpp). The training mode and the random numbers are arguments, never hidden state.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/parameters.hpp>

namespace xgrad {

/// A place in a forward pass. query_mask and cross are set for all activations of attention layers
/// except head_outputs, and for no others.
struct ActivationPlace {
  std::uint64_t module;        ///< Scope::id() of the module
  const char* name;            ///< name of the activation
  SharedMask query_mask = {};  ///< (B, N), 1 = not padding; null: no padding, or not set
  bool cross = false;          ///< whether the keys come from another sequence
};

/// Base class of ActivationTaker<T> for all T, so that Context needs no scalar type.
class ActivationObserver {
 public:
  virtual ~ActivationObserver() = default;
  /// Whether to call take() for activations of this name.
  virtual bool wants(std::string_view /*name*/) const { return true; }
};

/// How a forward pass runs. The default is evaluation, without dropout.
struct Context {
  bool training = false;                  ///< turns dropout on
  std::optional<Rng> rng = std::nullopt;  ///< the step's stream; layers derive streams from it
  std::uint32_t first_sample = 0;  ///< index of the input's first sample in the step's whole batch
  ActivationObserver* activations = nullptr;  ///< observes intermediate values; null: none
  /// An Encoder stores only the input of each block, and reruns the block in backward. No effect in
  /// a decoder, with an observer, or if the argument `bias` of the Encoder requires a gradient.
  bool recompute = false;
  double dropout_scale = 1;  ///< multiplies all dropout rates; from 0 to 1

  /// The context of a training step, with the same dropout masks as the trainer. `seed` is
  /// train.seed; `step` is the number of steps already taken, Optimizer::steps(). Each step gets
  /// different masks.
  static Context train(std::uint64_t seed, std::uint64_t step) {
    return {.training = true, .rng = Rng(seed) / "dropout" / step};
  }

  /// The dropout of rate p * dropout_scale for the module `id` (Scope::id()); no dropout outside
  /// training. Throws Error when training with a rate above 0 and no rng.
  DropoutOptions dropout(double p, std::uint64_t id) const {
    p *= dropout_scale;
    if (!training || p == 0) return {};
    check<Error>(rng.has_value(),
                 "Context: training with dropout needs rng, a stream of random numbers for each "
                 "step; use Context::train(seed, step)");
    return {p, *rng / id, first_sample};
  }
};

/// Receives the activations of a model as the forward pass computes them. Pass an ActivationTaker
/// to a model as Context::activations. The names of the activations are
///
///     of a block of an Encoder
///         residual_before     (B, N, D)       residual stream before the block
///         residual_middle     (B, N, D)       after the sublayer of self-attention
///         residual_cross      (B, N, D)       in a decoder: after the sublayer of cross-attention
///         mlp_hidden          (B, N, F)       after the activation function of the MLP
///         residual_after      (B, N, D)       after the block
///     of a MultiHeadAttention
///         queries, keys       (B, N, H d)     as projected, before rotary positions
///         values              (B, N, H d_v)   as projected
///         scores              (B, H, N, M)    scaled, with the bias of positions, before masks
///         weights             (B, H, N, M)    the attention weights, before dropout
///         head_outputs        (B, N, H d_v)   what the output projection reads
///     of a layer of a WindowMlp
///         mlp_hidden          (B, N, F)       after the activation function
///
/// In post-norm order, the residual stream is the output of the norms. Attention stores its scores
/// if scores or weights are wanted, so it takes more memory than the fused operation.
template <class T>
class ActivationTaker : public ActivationObserver {
 public:
  /// Returns the value with which the forward pass continues: x, or another of the same shape.
  virtual Variable<T> take(const ActivationPlace& place, const Variable<T>& x) = 0;
};

/// Whether the observer of `context` wants activations of this name.
inline bool observes(const Context& context, std::string_view name) {
  return context.activations != nullptr && context.activations->wants(name);
}

/// Called by layers. If the observer of `context` wants x, returns the result of its take(), else
/// x. Throws ShapeError, which names the activation, if the returned shape differs; Error if the
/// observer is not an ActivationTaker<T>.
template <class T>
Variable<T> observe_activation(const Context& context, const ActivationPlace& place,
                               const Variable<T>& x) {
  if (!observes(context, place.name)) return x;
  auto* taker = dynamic_cast<ActivationTaker<T>*>(context.activations);
  check<Error>(taker != nullptr,
               "Context: activations is not an ActivationTaker of the model's scalar type");
  Variable<T> y = taker->take(place, x);
  check_shape(y.shape() == x.shape(), "activation ", place.name, ": expected shape ", x.shape(),
              ", got ", y.shape());
  return y;
}

}  // namespace xgrad
