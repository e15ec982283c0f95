#include <xgrad/layers/encoder.hpp>

#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

template <class T>
EncoderBlock<T>::EncoderBlock(const Scope<T>& scope, const EncoderOptions& options)
    : norm_(options.norm),
      dropout_(options.dropout),
      attention_site_((scope / "dropout1").site()),
      mlp_site_((scope / "dropout2").site()),
      attention_(scope / "self_attn", options.attention),
      mlp_(scope, options.attention.width,
           options.feedforward == 0 ? 4 * options.attention.width : options.feedforward,
           options.activation, options.dropout) {
  if (norm_ == NormOrder::none) return;
  norm1_.emplace(scope / "norm1", options.attention.width, options.norm_eps);
  norm2_.emplace(scope / "norm2", options.attention.width, options.norm_eps);
}

template <class T>
Variable<T> EncoderBlock<T>::operator()(const Variable<T>& x,
                                        const std::shared_ptr<const Mask>& key_mask,
                                        const Context& context) const {
  const bool before = norm_ == NormOrder::pre;
  const bool after = norm_ == NormOrder::post;

  Variable<T> y = attention_(before ? (*norm1_)(x) : x, key_mask, context);
  y = dropout_add(y, x, context.dropout(dropout_, attention_site_));
  if (after) y = (*norm1_)(y);

  Variable<T> z = mlp_(before ? (*norm2_)(y) : y, context);
  z = dropout_add(z, y, context.dropout(dropout_, mlp_site_));
  return after ? (*norm2_)(z) : z;
}

template <class T>
Encoder<T>::Encoder(const Scope<T>& scope, const EncoderOptions& options) {
  for (std::size_t i = 0; i < options.layers; ++i) {
    layers_.emplace_back(scope / "layers" / i, options);
  }
  if (options.final_norm) norm_.emplace(scope / "norm", options.attention.width, options.norm_eps);
}

template <class T>
Variable<T> Encoder<T>::operator()(Variable<T> x, const std::shared_ptr<const Mask>& key_mask,
                                   const Context& context) const {
  for (const EncoderBlock<T>& layer : layers_) x = layer(x, key_mask, context);
  return norm_ ? (*norm_)(x) : x;
}

#define XGRAD_INSTANTIATE(T)      \
  template class EncoderBlock<T>; \
  template class Encoder<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
