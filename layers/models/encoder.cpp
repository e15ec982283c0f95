#include <xgrad/layers/models/encoder.hpp>

#include <xgrad/autograd/recompute.hpp>
#include <xgrad/autograd/scalar.hpp>
#include <xgrad/layers/activations.hpp>

namespace xgrad {

NormOptions norm_options(const EncoderOptions& options) {
  return {options.normalization, options.norm_eps};
}

ResidualOptions residual_options(const EncoderOptions& options) {
  return {options.attention.width, options.norm, norm_options(options), options.dropout,
          options.stochastic_depth};
}

std::size_t feedforward_width(const EncoderOptions& options) {
  return options.feedforward == 0 ? 4 * options.attention.width : options.feedforward;
}

template <class T>
EncoderBlock<T>::EncoderBlock(const Scope<T>& scope, const EncoderOptions& options)
    : id_(scope.id()),
      attention_(scope / "self_attn", options.attention),
      mlp_(scope, options.attention.width, feedforward_width(options), options.activation,
           options.dropout),
      residual1_(scope, 1, residual_options(options)),
      residual2_(scope, 2, residual_options(options)) {}

template <class T>
Variable<T> EncoderBlock<T>::operator()(const Variable<T>& x, const AttentionMasks& masks,
                                        const Context& context, const Variable<T>& bias) const {
  const auto& mask = masks.key_mask;
  Variable<T> y = observe_activation(context, {id_, "residual_before"}, x);
  y = residual1_(y, mask, context,
                 [&](const Variable<T>& z) { return attention_(z, masks, context, bias); });
  y = observe_activation(context, {id_, "residual_middle"}, y);
  y = residual2_(y, mask, context, [&](const Variable<T>& z) { return mlp_(z, context); });
  return observe_activation(context, {id_, "residual_after"}, y);
}

template <class T>
Variable<T> EncoderBlock<T>::decode_step(const Variable<T>& x, KVCache<T>& cache) const {
  const Variable<T> y = residual1_(
      x, nullptr, {}, [&](const Variable<T>& z) { return attention_.decode_step(z, cache); });
  return residual2_(y, nullptr, {}, [&](const Variable<T>& z) { return mlp_(z, {}); });
}

template <class T>
Variable<T> Encoder<T>::decode_step(Variable<T> x, std::vector<KVCache<T>>& caches) const {
  caches.resize(layers_.blocks.size());
  for (std::size_t i = 0; i < caches.size(); ++i) x = layers_.blocks[i].decode_step(x, caches[i]);
  return layers_.norm ? (*layers_.norm)(x, nullptr) : x;
}

template <class T>
Variable<T> Encoder<T>::operator()(Variable<T> x, const AttentionMasks& masks,
                                   const Context& context, const Variable<T>& bias) const {
  // Recomputing would sum the gradient of the bias in another order, which changes its bits.
  const bool again = context.recompute && !context.activations && !bias.requires_grad();
  for (const EncoderBlock<T>& block : layers_.blocks) {
    x = again ? recompute<T>([block, masks, context, bias](
                                 const Variable<T>& in) { return block(in, masks, context, bias); },
                             x)
              : block(x, masks, context, bias);
  }
  return layers_.norm ? (*layers_.norm)(x, masks.key_mask) : x;
}

#define XGRAD_INSTANTIATE(T)      \
  template class EncoderBlock<T>; \
  template class Encoder<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
