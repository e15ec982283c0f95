#include <xgrad/layers/models/encoder.hpp>

#include <xgrad/autograd/recompute.hpp>

namespace xgrad {

namespace {

NormOptions norm_options(const EncoderOptions& options) {
  return {options.normalization, options.norm_eps};
}

MultiHeadAttentionOptions self_options(const EncoderOptions& options) {
  MultiHeadAttentionOptions result = options.attention;
  result.causal = result.causal || options.decoder;
  return result;
}

// Only rotary positions act between two sequences; the table of relative_bias would be unused.
MultiHeadAttentionOptions cross_options(MultiHeadAttentionOptions options) {
  if (options.positions != PositionKind::rotary) options.positions = PositionKind::none;
  return options;
}

// Multiplies the rows of examples by dropout factors, one for each example.
template <class T>
Variable<T> some_examples(const Variable<T>& y, const DropoutOptions& options) {
  if (options.p == 0) return y;
  Tensor<T> factors = empty<T>({y.shape()[0], 1, 1});
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const std::uint32_t sample = options.first_sample + std::uint32_t(i);
    dropout_factors(*options.rng, options.p, sample, 0, 0, 1, factors.data() + i);
  }
  return mul(y, Variable<T>(std::move(factors)));
}

}  // namespace

template <class T>
Residual<T>::Residual(const Scope<T>& scope, std::size_t number, const EncoderOptions& options)
    : dropout_(options.dropout),
      stochastic_depth_(options.stochastic_depth),
      id_((scope / ("dropout" + std::to_string(number))).id()),
      depth_id_((scope / ("stochastic_depth" + std::to_string(number))).id()) {
  const std::string name = "norm" + std::to_string(number);
  const auto norm = [&](const std::string& at) {
    return Norm<T>(scope / at, options.attention.width, norm_options(options));
  };
  const NormOrder order = options.norm;
  if (order == NormOrder::pre || order == NormOrder::sandwich) before_ = norm(name);
  if (order == NormOrder::sandwich) inside_ = norm(name + "_post");
  if (order == NormOrder::post) after_ = norm(name);
}

template <class T>
Variable<T> Residual<T>::finish(Variable<T> y, const Variable<T>& x, const SharedMask& mask,
                                const Context& context) const {
  if (inside_) y = (*inside_)(y, mask);
  y = some_examples(y, context.dropout(stochastic_depth_, depth_id_));
  y = dropout_add(y, x, context.dropout(dropout_, id_));
  return after_ ? (*after_)(y, mask) : y;
}

template <class T>
EncoderBlock<T>::EncoderBlock(const Scope<T>& scope, const EncoderOptions& options)
    : id_(scope.id()),
      self_attention_(scope / "self_attn", self_options(options)),
      cross_attention_(options.decoder ? std::optional<MultiHeadAttention<T>>(
                                             std::in_place, scope / "multihead_attn",
                                             cross_options(options.attention))
                                       : std::nullopt),
      mlp_(scope, options.attention.width,
           options.feedforward == 0 ? 4 * options.attention.width : options.feedforward,
           options.activation, options.dropout) {
  const std::size_t sublayers = options.decoder ? 3 : 2;
  for (std::size_t i = 1; i <= sublayers; ++i) residuals_.emplace_back(scope, i, options);
}

template <class T>
Variable<T> EncoderBlock<T>::operator()(const Variable<T>& x, const AttentionMasks& masks,
                                        const Context& context, const Variable<T>& bias,
                                        const Memory<T>& memory) const {
  const SharedMask& mask = masks.key_mask;
  Variable<T> y = observe_activation(context, {id_, "residual_before"}, x);
  y = residuals_[0](y, mask, context, [&](const Variable<T>& z) {
    return self_attention_(z, masks, context, bias, memory.query_mask);
  });
  y = observe_activation(context, {id_, "residual_middle"}, y);
  if (cross_attention_) {
    y = residuals_[1](y, mask, context, [&](const Variable<T>& z) {
      return (*cross_attention_)(z, memory.tokens, memory.tokens, memory.masks, context, {},
                                 memory.query_mask);
    });
    y = observe_activation(context, {id_, "residual_cross"}, y);
  }
  y = residuals_.back()(y, mask, context, [&](const Variable<T>& z) { return mlp_(z, context); });
  return observe_activation(context, {id_, "residual_after"}, y);
}

template <class T>
Variable<T> EncoderBlock<T>::decode_step(const Variable<T>& x, EncoderCache<T>& cache,
                                         std::size_t index) const {
  const std::size_t first = cache.tokens[index].size();
  Variable<T> y = residuals_[0](x, nullptr, {}, [&](const Variable<T>& z) {
    return self_attention_.decode_step(z, cache.tokens[index]);
  });
  if (cross_attention_) {
    y = residuals_[1](y, nullptr, {}, [&](const Variable<T>& z) {
      return cross_attention_->cross_decode_step(z, first, cache.memory[index], cache.masks);
    });
  }
  return residuals_.back()(y, nullptr, {}, [&](const Variable<T>& z) { return mlp_(z, {}); });
}

template <class T>
Encoder<T>::Encoder(const Scope<T>& scope, const EncoderOptions& options) {
  for (std::size_t i = 0; i < options.layers; ++i) {
    EncoderOptions own = options;
    own.stochastic_depth *= double(i + 1) / double(options.layers);
    blocks_.emplace_back(scope / "layers" / i, own);
  }
  if (!options.final_norm) return;
  norm_.emplace(scope / "norm", options.attention.width, norm_options(options));
}

template <class T>
Variable<T> Encoder<T>::operator()(Variable<T> x, const AttentionMasks& masks,
                                   const Context& context, const Variable<T>& bias,
                                   const Memory<T>& memory) const {
  // Recomputing would sum the gradient of a bias or a memory in another order, which changes its
  // bits.
  const bool again = context.recompute && !context.activations && !bias.requires_grad() &&
                     !memory.tokens.defined();
  for (const EncoderBlock<T>& block : blocks_) {
    x = again ? recompute<T>([block, masks, context, bias](
                                 const Variable<T>& in) { return block(in, masks, context, bias); },
                             x)
              : block(x, masks, context, bias, memory);
  }
  return norm_ ? (*norm_)(x, masks.key_mask) : x;
}

template <class T>
EncoderCache<T> Encoder<T>::start(const Memory<T>& memory) const {
  EncoderCache<T> cache{std::vector<KVCache<T>>(blocks_.size()), {}, memory.masks};
  if (!memory.tokens.defined()) return cache;
  for (const auto& block : blocks_) cache.memory.push_back(block.project_memory(memory.tokens));
  return cache;
}

template <class T>
Variable<T> Encoder<T>::decode_step(Variable<T> x, EncoderCache<T>& cache) const {
  for (std::size_t i = 0; i < blocks_.size(); ++i) x = blocks_[i].decode_step(x, cache, i);
  return norm_ ? (*norm_)(x, nullptr) : x;
}

#define XGRAD_INSTANTIATE(T)      \
  template class Residual<T>;     \
  template class EncoderBlock<T>; \
  template class Encoder<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
