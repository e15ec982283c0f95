#include <xgrad/layers/attention/attention.hpp>

#include <algorithm>
#include <cmath>

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

// The first row of queries, of keys and of values in the packed projection, then the number of
// rows.
std::array<std::size_t, 4> bounds(const MultiHeadAttentionOptions& o) {
  const std::size_t keys = o.heads * o.head_dim;
  return {0, keys, 2 * keys, 2 * keys + o.heads * o.value_dim};
}

template <class T>
void append(Variable<T>& all, const Variable<T>& more) {
  all = all.defined() ? concat<T>({all, more}, 1) : more;
}

}  // namespace

template <class T>
MultiHeadAttention<T>::MultiHeadAttention(const Scope<T>& scope,
                                          const MultiHeadAttentionOptions& options)
    : options_(resolved(options)), id_(scope.id()) {
  const MultiHeadAttentionOptions& o = options_;
  const auto rows = bounds(o);
  if (o.key_width == o.width && o.value_width == o.width && o.value_dim == o.head_dim) {
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
  AttentionOptions options = attention_options(masks, context, /*cross=*/false);
  Variable<T> total_bias = (*position_bias_)(x.shape()[1], x.shape()[1]);
  if (bias.defined()) total_bias = total_bias.defined() ? add(bias, total_bias) : bias;
  const std::array inside{"queries", "keys", "values", "scores", "weights"};
  const bool observed = std::any_of(inside.begin(), inside.end(),
                                    [&](const char* name) { return observes(context, name); });
  if (observed || !in_weight_.defined() || !is_fused(weights) || weights.score != Score::dot ||
      weights.log_scale) {
    return attend({x, x, x}, options, total_bias, context,
                  query_mask ? query_mask : options.masks.key_mask, /*cross=*/false);
  }
  // (B, N, 3 H d_h): self_attention() reads q, k and v from it without copies.
  const Variable<T> qkv = rotated(linear(x, in_weight_, in_bias_), 2 * options_.heads);
  options.scale = score_factor(weights, options_.scale, options_.head_dim);
  return finish(self_attention(qkv, options, total_bias), context);
}

template <class T>
Variable<T> MultiHeadAttention<T>::operator()(const Variable<T>& query, const Variable<T>& key,
                                              const Variable<T>& value, const AttentionMasks& masks,
                                              const Context& context, const Variable<T>& bias,
                                              const SharedMask& query_mask) const {
  return attend({query, key, value}, attention_options(masks, context, /*cross=*/true), bias,
                context, query_mask, /*cross=*/true);
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
  const std::size_t heads = options_.heads;
  const Variable<T> q = rotated(take("queries", project(inputs[0], 0)), heads, 0, cross),
                    k = rotated(take("keys", project(inputs[1], 1)), heads, 0, cross),
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
AttentionOptions MultiHeadAttention<T>::attention_options(const AttentionMasks& masks,
                                                          const Context& context,
                                                          bool cross) const {
  return {.heads = options_.heads,
          .scale = options_.scale,
          .masks = masks,
          .causal = !cross && options_.causal,
          .exclude_self = !cross && options_.exclude_self,
          .dropout = context.dropout(options_.dropout, id_)};
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
Variable<T> MultiHeadAttention<T>::rotated(const Variable<T>& x, std::size_t heads,
                                           std::size_t first, bool cross) const {
  if (options_.positions != PositionKind::rotary || (cross && !options_.cross_positions)) return x;
  return rotary_embedding(x, options_.head_dim, heads, 10000, first);
}

// Queries, keys and values of x. If one weight holds all three projections, one product computes
// them.
template <class T>
std::array<Variable<T>, 3> MultiHeadAttention<T>::project_all(const Variable<T>& x) const {
  if (!in_weight_.defined()) return {project(x, 0), project(x, 1), project(x, 2)};
  const Variable<T> all = linear(x, in_weight_, in_bias_);
  const std::size_t width = all.shape()[2] / 3;
  return {slice(all, 2, 0, width), slice(all, 2, width, 2 * width),
          slice(all, 2, 2 * width, 3 * width)};
}

// A token that follows others sees all keys, so it needs no causal mask.
template <class T>
Variable<T> MultiHeadAttention<T>::decode_step(const Variable<T>& x, KVCache<T>& cache) const {
  const std::size_t first = cache.size(), batch = x.shape()[0], tokens = x.shape()[1];
  check_shape(first == 0 || tokens == 1, "attention: expected one token after ", first,
              " others, got ", tokens);
  const auto [q, k, v] = project_all(x);
  append(cache.keys, rotated(k, options_.heads, first));
  append(cache.values, v);
  AttentionOptions options = attention_options({}, {}, /*cross=*/first > 0);
  options.causal = first == 0;
  if (first > 0 && options_.exclude_self) {
    auto others = std::make_shared<Mask>(full<std::uint8_t>({batch, first + 1}, 1));
    for (std::size_t b = 0; b < batch; ++b) (*others)(b, first) = 0;
    options.masks.key_mask = std::move(others);
  }
  const Variable<T> bias = (*position_bias_)(tokens, first + tokens, first);
  return finish(attend_values(rotated(q, options_.heads, first), cache.keys, cache.values,
                              options_.weights, options, bias, score_weight_),
                {});
}

template <class T>
KVCache<T> MultiHeadAttention<T>::project_memory(const Variable<T>& memory) const {
  return {rotated(project(memory, 1), options_.heads, 0, /*cross=*/true), project(memory, 2)};
}

template <class T>
Variable<T> MultiHeadAttention<T>::cross_decode_step(const Variable<T>& query, std::size_t first,
                                                     const KVCache<T>& memory,
                                                     const AttentionMasks& masks) const {
  const Variable<T> q = rotated(project(query, 0), options_.heads, first, /*cross=*/true);
  return finish(attend_values(q, memory.keys, memory.values, options_.weights,
                              attention_options(masks, {}, /*cross=*/true), {}, score_weight_),
                {});
}

#define XGRAD_INSTANTIATE(T) template class MultiHeadAttention<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
