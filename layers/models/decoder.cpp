#include <xgrad/layers/models/decoder.hpp>

#include <xgrad/autograd/scalar.hpp>
#include <xgrad/layers/activations.hpp>

namespace xgrad {

namespace {

MultiHeadAttentionOptions causal(MultiHeadAttentionOptions options) {
  options.causal = true;
  return options;
}

// Only rotary positions act between two sequences; relative_bias would make a table in vain.
MultiHeadAttentionOptions cross(MultiHeadAttentionOptions options) {
  if (options.positions != PositionKind::rotary) options.positions = PositionKind::none;
  return options;
}

}  // namespace

template <class T>
DecoderBlock<T>::DecoderBlock(const Scope<T>& scope, const EncoderOptions& options)
    : id_(scope.id()),
      self_attention_(scope / "self_attn", causal(options.attention)),
      attention_(scope / "multihead_attn", cross(options.attention)),
      mlp_(scope, options.attention.width, feedforward_width(options), options.activation,
           options.dropout),
      residual1_(scope, 1, residual_options(options)),
      residual2_(scope, 2, residual_options(options)),
      residual3_(scope, 3, residual_options(options)) {}

template <class T>
Variable<T> DecoderBlock<T>::operator()(const Variable<T>& x, const Variable<T>& memory,
                                        const AttentionMasks& memory_masks, const Context& context,
                                        const SharedMask& mask) const {
  Variable<T> y = observe_activation(context, {id_, "residual_before"}, x);
  y = residual1_(y, nullptr, context,
                 [&](const Variable<T>& z) { return self_attention_(z, {}, context, {}, mask); });
  y = observe_activation(context, {id_, "residual_middle"}, y);
  y = residual2_(y, nullptr, context, [&](const Variable<T>& z) {
    return attention_(z, memory, memory, memory_masks, context, {}, mask);
  });
  y = observe_activation(context, {id_, "residual_cross"}, y);
  y = residual3_(y, nullptr, context, [&](const Variable<T>& z) { return mlp_(z, context); });
  return observe_activation(context, {id_, "residual_after"}, y);
}

template <class T>
Variable<T> DecoderBlock<T>::decode_step(const Variable<T>& x, DecoderCache<T>& cache,
                                         const AttentionMasks& memory_masks) const {
  const std::size_t first = cache.outputs.size();
  Variable<T> y = residual1_(x, nullptr, {}, [&](const Variable<T>& z) {
    return self_attention_.decode_step(z, cache.outputs);
  });
  y = residual2_(y, nullptr, {}, [&](const Variable<T>& z) {
    return attention_.cross_decode_step(z, first, cache.memory, memory_masks);
  });
  return residual3_(y, nullptr, {}, [&](const Variable<T>& z) { return mlp_(z, {}); });
}

template <class T>
std::vector<DecoderCache<T>> Decoder<T>::project_memory(const Variable<T>& memory) const {
  std::vector<DecoderCache<T>> caches;
  for (const DecoderBlock<T>& block : layers_.blocks)
    caches.push_back(block.project_memory(memory));
  return caches;
}

template <class T>
Variable<T> Decoder<T>::decode_step(Variable<T> x, std::vector<DecoderCache<T>>& caches,
                                    const AttentionMasks& memory_masks) const {
  for (std::size_t i = 0; i < caches.size(); ++i) {
    x = layers_.blocks[i].decode_step(x, caches[i], memory_masks);
  }
  return layers_.norm ? (*layers_.norm)(x, nullptr) : x;
}

template <class T>
Variable<T> Decoder<T>::operator()(Variable<T> x, const Variable<T>& memory,
                                   const AttentionMasks& memory_masks, const Context& context,
                                   const SharedMask& mask) const {
  for (const DecoderBlock<T>& block : layers_.blocks) {
    x = block(x, memory, memory_masks, context, mask);
  }
  return layers_.norm ? (*layers_.norm)(x, nullptr) : x;
}

#define XGRAD_INSTANTIATE(T)      \
  template class DecoderBlock<T>; \
  template class Decoder<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
