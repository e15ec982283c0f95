#include <xgrad/layers/attention.hpp>

#include <algorithm>

#include <xgrad/autograd/scalar.hpp>
#include <xgrad/layers/attention_observer.hpp>
#include <xgrad/layers/init.hpp>

namespace xgrad {

namespace {

AttentionOptions resolved(AttentionOptions options) {
  check_shape(options.heads > 0, "attention: heads is 0");
  if (options.head_dim == 0) {
    check_shape(options.width % options.heads == 0, "attention: heads (", options.heads,
                ") does not divide width (", options.width, ")");
    options.head_dim = options.width / options.heads;
  }
  return options;
}

}  // namespace

template <class T>
MultiHeadAttention<T>::MultiHeadAttention(const Scope<T>& scope, const AttentionOptions& options)
    : options_(resolved(options)),
      site_(scope.site()),
      in_weight_(scope.parameter("in_proj_weight",
                                 {3 * options_.heads * options_.head_dim, options_.width},
                                 init::xavier_uniform())),
      in_bias_(options_.qkv_bias
                   ? scope.parameter("in_proj_bias", {3 * options_.heads * options_.head_dim},
                                     init::zeros())
                   : Variable<T>()),
      out_(scope / "out_proj", options_.heads * options_.head_dim, options_.width,
           options_.out_bias) {}

template <class T>
Variable<T> MultiHeadAttention<T>::operator()(const Variable<T>& x, const Attend<T>& attend,
                                              const Context& context) const {
  Variable<T> qkv = linear(x, in_weight_, in_bias_);  // (B, N, 3 H d_h)
  if (options_.positions == PositionKind::rotary) {
    qkv = rotary_embedding(qkv, options_.head_dim, 2 * options_.heads);
  }
  const Attention how{.heads = options_.heads,
                      .scale = options_.scale,
                      .key_mask = attend.key_mask,
                      .mask = attend.mask,
                      .causal = options_.causal,
                      .exclude_self = options_.exclude_self,
                      .dropout = context.dropout(options_.dropout, site_)};
  Variable<T> y = self_attention(qkv, how, attend.bias);
  if (context.attention) {
    const std::size_t width = options_.heads * options_.head_dim;
    y = observe_attention(*context.attention, site_, y, slice(qkv, 2, 0, width),
                          slice(qkv, 2, width, 2 * width), how, attend.bias);
  }
  return out_(y);
}

template <class T>
Tensor<T> MultiHeadAttention<T>::projection(std::size_t third) const {
  const Tensor<T>& packed = in_weight_.value();
  Tensor<T> part = empty<T>({packed.shape()[0] / 3, packed.shape()[1]});
  std::copy_n(packed.data() + third * part.size(), part.size(), part.data());
  return part;
}

#define XGRAD_INSTANTIATE(T) template class MultiHeadAttention<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
