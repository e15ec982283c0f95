#include <xgrad/layers/attention/attention.hpp>

#include <cmath>

#include <xgrad/autograd/scalar.hpp>
#include <xgrad/layers/activations.hpp>
#include <xgrad/layers/attention/observer.hpp>
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
    : options_(resolved(options)), site_(scope.site()) {
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
                                              const Mask* query_mask) const {
  if (query_mask == nullptr) query_mask = masks.key_mask.get();
  const AttentionWeightOptions& weights = options_.weights;
  const AttentionOptions options = self_options(masks, context);
  const Variable<T> total_bias = with_position_bias(bias, x.shape()[1]);
  if (!in_weight_.defined() || !is_fused(weights) || weights.score != Score::dot ||
      weights.log_scale || context.activations) {
    const Variable<T> q = apply_rotary(take(context, "queries", project(x, 0)), options_.heads),
                      k = apply_rotary(take(context, "keys", project(x, 1)), options_.heads),
                      v = take(context, "values", project(x, 2));
    const Variable<T> y =
        attend_values(q, k, v, weights, options, total_bias, score_weight_, take_scores(context));
    return finish(observed(y, q, k, options, total_bias, context, query_mask, false), context);
  }
  // (B, N, 3 H d_h): self_attention() reads q, k and v from it without copies.
  const Variable<T> qkv = apply_rotary(linear(x, in_weight_, in_bias_), 2 * options_.heads);
  AttentionOptions scaled = options;
  scaled.scale = score_factor(weights, options_.scale, options_.head_dim);
  const Variable<T> y = self_attention(qkv, scaled, total_bias);
  if (!context.attention) return finish(y, context);
  const auto rows = bounds(options_);
  return finish(observed(y, slice(qkv, 2, 0, rows[1]), slice(qkv, 2, rows[1], rows[2]), options,
                         total_bias, context, query_mask, false),
                context);
}

template <class T>
Variable<T> MultiHeadAttention<T>::operator()(const Variable<T>& query, const Variable<T>& key,
                                              const Variable<T>& value, const AttentionMasks& masks,
                                              const Context& context, const Variable<T>& bias,
                                              const Mask* query_mask) const {
  const auto placed = [&](const Variable<T>& x) {
    return options_.cross_positions ? apply_rotary(x, options_.heads) : x;
  };
  const Variable<T> q = placed(take(context, "queries", project(query, 0))),
                    k = placed(take(context, "keys", project(key, 1))),
                    v = take(context, "values", project(value, 2));
  const AttentionOptions options = cross_options(masks, context);
  const Variable<T> y =
      attend_values(q, k, v, options_.weights, options, bias, score_weight_, take_scores(context));
  return finish(observed(y, q, k, options, bias, context, query_mask, true), context);
}

template <class T>
Variable<T> MultiHeadAttention<T>::take(const Context& context, const char* name,
                                        const Variable<T>& x) const {
  return observe_activation(context, site_, name, x);
}

// Empty without an observer, so that attention stays fused.
template <class T>
TakeScores<T> MultiHeadAttention<T>::take_scores(const Context& context) const {
  if (!context.activations) return nullptr;
  return [this, &context](const Variable<T>& scores) { return take(context, "scores", scores); };
}

template <class T>
Variable<T> MultiHeadAttention<T>::finish(const Variable<T>& y, const Context& context) const {
  const Variable<T> heads = take(context, "head_outputs", y);
  return out_ ? (*out_)(heads) : heads;
}

template <class T>
Variable<T> MultiHeadAttention<T>::observed(const Variable<T>& y, const Variable<T>& q,
                                            const Variable<T>& k, const AttentionOptions& options,
                                            const Variable<T>& bias, const Context& context,
                                            const Mask* query_mask, bool cross) const {
  if (!context.attention) return y;
  const auto maps = [&] {
    return attention_weights(q, k, options_.weights, options, bias, score_weight_);
  };
  return observe_attention<T>(*context.attention, {site_, options_.heads, query_mask, cross}, y,
                              maps);
}

template <class T>
Variable<T> MultiHeadAttention<T>::weights(const Variable<T>& x,
                                           const AttentionMasks& masks) const {
  return attention_weights(apply_rotary(project(x, 0), options_.heads),
                           apply_rotary(project(x, 1), options_.heads), options_.weights,
                           self_options(masks, {}), with_position_bias({}, x.shape()[1]),
                           score_weight_);
}

template <class T>
AttentionOptions MultiHeadAttention<T>::cross_options(const AttentionMasks& masks,
                                                      const Context& context) const {
  return {.heads = options_.heads,
          .scale = options_.scale,
          .masks = masks,
          .dropout = context.dropout(options_.dropout, site_)};
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

// x, with rotary positions applied to its first `heads` heads if the layer uses them.
template <class T>
Variable<T> MultiHeadAttention<T>::apply_rotary(const Variable<T>& x, std::size_t heads) const {
  return options_.positions == PositionKind::rotary ? rotary_embedding(x, options_.head_dim, heads)
                                                    : x;
}

#define XGRAD_INSTANTIATE(T) template class MultiHeadAttention<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
