#include <xgrad/layers/attention/attention.hpp>

#include <algorithm>
#include <cmath>

#include <xgrad/autograd/scalar.hpp>
#include <xgrad/layers/activations.hpp>
#include <xgrad/layers/init.hpp>

namespace xgrad {

namespace {

MultiHeadAttentionOptions resolved(MultiHeadAttentionOptions o) {
  check_shape(o.heads > 0, "attention: expected at least one head, got 0");
  if (o.head_dim == 0) {
    check_shape(o.width % o.heads == 0, "attention: heads (", o.heads, ") does not divide width (",
                o.width, ")");
    o.head_dim = o.width / o.heads;
  }
  for (std::size_t* width : {&o.key_width, &o.value_width}) *width = *width ? *width : o.width;
  if (o.value_dim == 0) o.value_dim = o.head_dim;
  return o;
}

bool is_packed(const MultiHeadAttentionOptions& o) {
  return o.key_width == o.width && o.value_width == o.width && o.value_dim == o.head_dim;
}

// The first row of queries, of keys and of values in the packed projection, then the number of
// rows.
std::array<std::size_t, 4> bounds(const MultiHeadAttentionOptions& o) {
  const std::size_t keys = o.heads * o.head_dim;
  return {0, keys, 2 * keys, 2 * keys + o.heads * o.value_dim};
}

}  // namespace

template <class T>
MultiHeadAttention<T>::MultiHeadAttention(const Scope<T>& scope,
                                          const MultiHeadAttentionOptions& options)
    : options_(resolved(options)), id_(scope.id()) {
  const MultiHeadAttentionOptions& o = options_;
  const auto rows = bounds(o);
  if (is_packed(o)) {
    in_weight_ = scope.parameter("in_proj_weight", {rows[3], o.width}, init::xavier_uniform());
  } else {
    const std::array names{"q_proj_weight", "k_proj_weight", "v_proj_weight"};
    const std::array widths{o.width, o.key_width, o.value_width};
    for (std::size_t i = 0; i < 3; ++i) {
      separate_[i] =
          scope.parameter(names[i], {rows[i + 1] - rows[i], widths[i]}, init::xavier_uniform());
    }
  }
  if (o.qkv_bias)
    in_bias_ = scope.parameter("in_proj_bias", {rows[3]}, init::zeros(), WeightDecay::off);
  if (o.weights.score == Score::additive) {
    score_weight_ = scope.parameter("score_weight", {o.heads, o.head_dim},
                                    init::uniform(1 / std::sqrt(double(o.head_dim))));
  }
  if (o.out_proj) out_.emplace(scope / "out_proj", o.heads * o.value_dim, o.width, o.out_bias);
  position_bias_.emplace(scope, o.positions, o.heads, o.max_distance);
}

template <class T>
Variable<T> MultiHeadAttention<T>::operator()(const Variable<T>& x, const AttentionMasks& masks,
                                              const Context& context, const Variable<T>& bias,
                                              const SharedMask& query_mask) const {
  const AttentionWeightOptions& weights = options_.weights;
  AttentionOptions options = self_options(masks, context);
  const Variable<T> total_bias = with_position_bias(bias, x.shape()[1]);
  const std::array inside{"queries", "keys", "values", "scores", "weights"};
  const bool observed = std::any_of(inside.begin(), inside.end(),
                                    [&](const char* name) { return observes(context, name); });
  if (observed || !in_weight_.defined() || !is_fused(weights) || weights.score != Score::dot ||
      weights.log_scale) {
    return attend({x, x, x}, options, total_bias, context, query_mask ? query_mask : masks.key_mask,
                  /*cross=*/false);
  }
  // (B, N, 3 H d_h): self_attention() reads q, k and v from it without copies.
  const Variable<T> qkv = apply_rotary(linear(x, in_weight_, in_bias_), 2 * options_.heads);
  options.scale = score_factor(weights, options_.scale, options_.head_dim);
  return finish(self_attention(qkv, options, total_bias), context);
}

template <class T>
Variable<T> MultiHeadAttention<T>::operator()(const Variable<T>& query, const Variable<T>& key,
                                              const Variable<T>& value, const AttentionMasks& masks,
                                              const Context& context, const Variable<T>& bias,
                                              const SharedMask& query_mask) const {
  return attend({query, key, value}, cross_options(masks, context), bias, context,
                query_mask ? query_mask : masks.key_mask, /*cross=*/true);
}

// The attention of the inputs to queries, keys and values.
template <class T>
Variable<T> MultiHeadAttention<T>::attend(const std::array<Variable<T>, 3>& inputs,
                                          const AttentionOptions& options, const Variable<T>& bias,
                                          const Context& context, const SharedMask& query_mask,
                                          bool cross) const {
  const TakeActivation<T> take = [&](const char* name, const Variable<T>& x) {
    return observe_activation(context, {id_, name, query_mask, cross}, x);
  };
  const auto placed = [&](const Variable<T>& x) {
    return cross ? cross_rotary(x) : apply_rotary(x, options_.heads);
  };
  const Variable<T> q = placed(take("queries", project(inputs[0], 0))),
                    k = placed(take("keys", project(inputs[1], 1))),
                    v = take("values", project(inputs[2], 2));
  const bool stores = observes(context, "scores") || observes(context, "weights");
  return finish(attend_values(q, k, v, options_.weights, options, bias, score_weight_,
                              stores ? take : nullptr),
                context);
}

template <class T>
Variable<T> MultiHeadAttention<T>::finish(const Variable<T>& y, const Context& context) const {
  const Variable<T> heads = observe_activation(context, {id_, "head_outputs"}, y);
  return out_ ? (*out_)(heads) : heads;
}

template <class T>
AttentionOptions MultiHeadAttention<T>::cross_options(const AttentionMasks& masks,
                                                      const Context& context) const {
  return {.heads = options_.heads,
          .scale = options_.scale,
          .masks = masks,
          .dropout = context.dropout(options_.dropout, id_)};
}

template <class T>
AttentionOptions MultiHeadAttention<T>::self_options(const AttentionMasks& masks,
                                                     const Context& context) const {
  AttentionOptions options = cross_options(masks, context);
  options.causal = options_.causal;
  options.exclude_self = options_.exclude_self;
  return options;
}

template <class T>
Variable<T> MultiHeadAttention<T>::with_position_bias(const Variable<T>& bias,
                                                      std::size_t tokens) const {
  const Variable<T> positions = (*position_bias_)(tokens, tokens);
  if (!bias.defined()) return positions;
  return positions.defined() ? add(bias, positions) : bias;
}

// The projection of queries (part 0), keys (1) or values (2).
template <class T>
Variable<T> MultiHeadAttention<T>::projection(std::size_t part) const {
  if (!in_weight_.defined()) return separate_[part];
  const auto rows = bounds(options_);
  return slice(in_weight_, 0, rows[part], rows[part + 1]);
}

template <class T>
Variable<T> MultiHeadAttention<T>::project(const Variable<T>& x, std::size_t part) const {
  const auto rows = bounds(options_);
  return linear(
      x, projection(part),
      in_bias_.defined() ? slice(in_bias_, 0, rows[part], rows[part + 1]) : Variable<T>());
}

// x, with rotary positions applied to its first `heads` heads if the layer uses them. The first
// token has the position `first`.
template <class T>
Variable<T> MultiHeadAttention<T>::apply_rotary(const Variable<T>& x, std::size_t heads,
                                                std::size_t first) const {
  if (options_.positions != PositionKind::rotary) return x;
  return rotary_embedding(x, options_.head_dim, heads, 10000, first);
}

// apply_rotary() to queries or keys of cross-attention.
template <class T>
Variable<T> MultiHeadAttention<T>::cross_rotary(const Variable<T>& x, std::size_t first) const {
  return options_.cross_positions ? apply_rotary(x, options_.heads, first) : x;
}

#define XGRAD_INSTANTIATE(T) template class MultiHeadAttention<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
