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
           options_.out_bias),
      position_bias_(scope, options_.positions, options_.heads, options_.max_distance) {}

template <class T>
Variable<T> MultiHeadAttention<T>::operator()(const Variable<T>& x, const Attend<T>& attend,
                                              const Context& context) const {
  Variable<T> qkv = linear(x, in_weight_, in_bias_);  // (B, N, 3 H d_h)
  if (options_.positions == PositionKind::rotary) {
    qkv = rotary_embedding(qkv, options_.head_dim, 2 * options_.heads);
  }
  Attention how = attention_of(attend, context);
  how.causal = options_.causal;
  how.exclude_self = options_.exclude_self;
  Variable<T> bias = position_bias_(x.shape()[1], x.shape()[1]);
  if (attend.bias.defined()) bias = bias.defined() ? add(attend.bias, bias) : attend.bias;
  Variable<T> y = self_attention(qkv, how, bias);
  if (context.attention) {
    const std::size_t width = options_.heads * options_.head_dim;
    y = observe_attention(*context.attention, site_, y, slice(qkv, 2, 0, width),
                          slice(qkv, 2, width, 2 * width), how, bias);
  }
  return out_(y);
}

template <class T>
Variable<T> MultiHeadAttention<T>::operator()(const Variable<T>& x, const Variable<T>& memory,
                                              const Attend<T>& attend,
                                              const Context& context) const {
  const std::size_t width = options_.heads * options_.head_dim;
  const Variable<T> q = project(x, 0, 1), kv = project(memory, 1, 2);
  return out_(attention(q, slice(kv, 2, 0, width), slice(kv, 2, width, 2 * width),
                        attention_of(attend, context), attend.bias));
}

// Thirds first ... first + parts - 1 of the packed projection.
template <class T>
Variable<T> MultiHeadAttention<T>::project(const Variable<T>& x, std::size_t first,
                                           std::size_t parts) const {
  const std::size_t width = options_.heads * options_.head_dim;
  const std::size_t begin = first * width, end = (first + parts) * width;
  return linear(x, slice(in_weight_, 0, begin, end),
                in_bias_.defined() ? slice(in_bias_, 0, begin, end) : Variable<T>());
}

template <class T>
Attention MultiHeadAttention<T>::attention_of(const Attend<T>& attend,
                                              const Context& context) const {
  Attention how;
  how.heads = options_.heads;
  how.scale = options_.scale;
  how.key_mask = attend.key_mask;
  how.mask = attend.mask;
  how.dropout = context.dropout(options_.dropout, site_);
  return how;
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
