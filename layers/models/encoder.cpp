#include <xgrad/layers/models/encoder.hpp>

#include <xgrad/autograd/recompute.hpp>
#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

NormOptions norm_options(const EncoderOptions& options) {
  return {options.normalization, options.norm_eps};
}

ResidualOptions residual_options(const EncoderOptions& options) {
  return {options.attention.width, options.norm, norm_options(options), options.dropout};
}

std::size_t feedforward_width(const EncoderOptions& options) {
  return options.feedforward == 0 ? 4 * options.attention.width : options.feedforward;
}

template <class T>
EncoderBlock<T>::EncoderBlock(const Scope<T>& scope, const EncoderOptions& options)
    : attention_(scope / "self_attn", options.attention),
      mlp_(scope, options.attention.width, feedforward_width(options), options.activation,
           options.dropout),
      residual1_(scope, 1, residual_options(options)),
      residual2_(scope, 2, residual_options(options)) {}

template <class T>
Variable<T> EncoderBlock<T>::operator()(const Variable<T>& x, const AttentionMasks& masks,
                                        const Context& context, const Variable<T>& bias) const {
  const auto& mask = masks.key_mask;
  const Variable<T> y = residual1_(
      x, mask, context, [&](const Variable<T>& z) { return attention_(z, masks, context, bias); });
  return residual2_(y, mask, context, [&](const Variable<T>& z) { return mlp_(z, context); });
}

template <class T>
Encoder<T>::Encoder(const Scope<T>& scope, const EncoderOptions& options) {
  for (std::size_t i = 0; i < options.layers; ++i) {
    layers_.emplace_back(scope / "layers" / i, options);
  }
  if (!options.final_norm) return;
  norm_.emplace(scope / "norm", options.attention.width, norm_options(options));
}

template <class T>
Variable<T> Encoder<T>::operator()(Variable<T> x, const AttentionMasks& masks,
                                   const Context& context, const Variable<T>& bias) const {
  // Recomputing would sum the gradient of the bias in another order, which changes its bits.
  const bool again = context.recompute && !context.attention && !bias.requires_grad();
  for (const EncoderBlock<T>& layer : layers_) {
    x = again ? recompute<T>([layer, masks, context, bias](
                                 const Variable<T>& in) { return layer(in, masks, context, bias); },
                             x)
              : layer(x, masks, context, bias);
  }
  return norm_ ? (*norm_)(x, masks.key_mask) : x;
}

#define XGRAD_INSTANTIATE(T)      \
  template class EncoderBlock<T>; \
  template class Encoder<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
