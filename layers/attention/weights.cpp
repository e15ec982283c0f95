#include <xgrad/layers/attention/weights.hpp>

#include <cmath>
#include <limits>

#include <xgrad/autograd/kernels/math.hpp>

namespace xgrad {

namespace {

// (B, N, H d) -> (B, H, N, d)
template <class T>
Variable<T> split_heads(const Variable<T>& x, std::size_t heads) {
  const Shape& s = x.shape();
  return transpose(reshape(x, {s[0], s[1], heads, s[2] / heads}), {0, 2, 1, 3});
}

// (B, H, N, d) -> (B, N, H d)
template <class T>
Variable<T> join_heads(const Variable<T>& x) {
  const Shape& s = x.shape();
  return reshape(transpose(x, {0, 2, 1, 3}), {s[0], s[2], s[1] * s[3]});
}

constexpr double kEps = 1e-24;  // too small to change the norm of vectors far longer than 1e-12

// Scales each head of each token to length sqrt(d): x / sqrt(mean x^2).
template <class T>
Variable<T> normalized(const Variable<T>& x, std::size_t heads) {
  const Shape& s = x.shape();
  const std::size_t d = s[2] / heads;
  const Variable<T> ones(full<T>({d}, 1));
  return reshape(rms_norm(reshape(x, {s[0], s[1], heads, d}), ones, kEps), s);
}

// The number of keys that each query sees, at least 1; `shape` has B N elements.
template <class T>
Tensor<T> keys_seen(const Mask& seen, const Shape& shape) {
  Tensor<T> count = xt::maximum(xt::sum<T>(seen, {2}), T(1));
  count.reshape(shape);
  return count;
}

template <class T>
Variable<T> log_of_keys(const Mask& seen, const Shape& shape) {
  Tensor<T> result = keys_seen<T>(seen, shape);
  for (T& x : result) x = detail::log(x);
  return Variable<T>(std::move(result));
}

// (B, 1, N, M): -inf where the key is hidden, else 0.
template <class T>
Variable<T> hidden(const Mask& seen) {
  const Shape& s = seen.shape();
  Tensor<T> result = xt::where(xt::not_equal(seen, 0), T(0), -std::numeric_limits<T>::infinity());
  result.reshape({s[0], 1, s[1], s[2]});
  return Variable<T>(std::move(result));
}

template <class T>
Variable<T> activate(const Variable<T>& scores, AttentionActivation activation) {
  if (activation == AttentionActivation::softmax) return softmax(scores);
  if (activation == AttentionActivation::sigmoid) return sigmoid(scores);
  if (activation == AttentionActivation::sparsemax) return sparsemax(scores);
  const Variable<T> y = relu(scores);
  return activation == AttentionActivation::relu ? y : mul(y, y);
}

bool hides(const AttentionOptions& options) {
  return options.masks.key_mask || options.masks.mask || options.causal || options.exclude_self;
}

}  // namespace

double score_factor(const AttentionWeightOptions& weights, std::optional<double> scale,
                    std::size_t head_dim) {
  const bool dot = weights.score == Score::dot, cosine = weights.score == Score::cosine;
  const double d = double(head_dim), usual = dot ? 1 / std::sqrt(d) : cosine ? std::sqrt(d) : 1;
  return scale.value_or(usual) / (cosine ? d : 1) / weights.temperature;
}

bool is_fused(const AttentionWeightOptions& weights) {
  return weights.score != Score::additive && weights.activation == AttentionActivation::softmax &&
         !weights.mean;
}

template <class T>
Variable<T> attention_weights(const Variable<T>& q, const Variable<T>& k,
                              const AttentionWeightOptions& weights,
                              const AttentionOptions& options, const Variable<T>& bias,
                              const Variable<T>& additive, const TakeActivation<T>& take) {
  const std::size_t batch = q.shape()[0], queries = q.shape()[1], keys = k.shape()[1];
  const bool normalize = weights.score == Score::cosine;
  const auto split = [&](const Variable<T>& x) {
    return split_heads(normalize ? normalized(x, options.heads) : x, options.heads);
  };
  Variable<T> s = weights.score == Score::additive ? additive_scores(q, k, additive)
                                                   : matmul(split(q), split(k), false, true);
  s = scale(s, T(score_factor(weights, options.scale, q.shape()[2] / options.heads)));
  const Mask seen = attention_mask(options, batch, queries, keys);
  const Shape per_row{batch, 1, queries, 1};
  if (weights.log_scale) s = mul(s, log_of_keys<T>(seen, per_row));
  if (bias.defined()) s = add(s, bias);
  if (take) s = take("scores", s);
  if (hides(options)) s = add(s, hidden<T>(seen));
  s = activate(s, weights.activation);
  if (weights.mean) s = mul(s, Variable<T>(Tensor<T>(T(1) / keys_seen<T>(seen, per_row))));
  if (take) s = take("weights", s);
  return s;
}

template <class T>
Variable<T> attend_values(const Variable<T>& q, const Variable<T>& k, const Variable<T>& v,
                          const AttentionWeightOptions& weights, AttentionOptions options,
                          const Variable<T>& bias, const Variable<T>& additive,
                          const TakeActivation<T>& take) {
  if (take || !is_fused(weights)) {
    const Variable<T> p = attention_weights(q, k, weights, options, bias, additive, take);
    return join_heads(matmul(dropout(p, options.dropout), split_heads(v, options.heads)));
  }
  const bool normalize = weights.score == Score::cosine;
  Variable<T> query = normalize ? normalized(q, options.heads) : q;
  if (weights.log_scale) {
    const std::size_t batch = q.shape()[0], queries = q.shape()[1];
    const Mask seen = attention_mask(options, batch, queries, k.shape()[1]);
    query = mul(query, log_of_keys<T>(seen, {batch, queries, 1}));
  }
  options.scale = score_factor(weights, options.scale, q.shape()[2] / options.heads);
  return attention(query, normalize ? normalized(k, options.heads) : k, v, options, bias);
}

#define XGRAD_INSTANTIATE(T)                                    \
  template decltype(attention_weights<T>) attention_weights<T>; \
  template decltype(attend_values<T>) attend_values<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
