// MultiHeadAttention one token after another: keys and values of earlier tokens are kept.
#include <xgrad/autograd/scalar.hpp>
#include <xgrad/layers/attention/attention.hpp>

namespace xgrad {

namespace {

template <class T>
void append(Variable<T>& all, const Variable<T>& more) {
  all = all.defined() ? concat<T>({all, more}, 1) : more;
}

}  // namespace

template <class T>
void KVCache<T>::select(const Ids& rows) {
  if (!keys.defined()) return;
  keys = take(keys, 0, rows);
  values = take(values, 0, rows);
}

// Queries, keys and values of x. One product computes all three where one weight holds them.
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
  append(cache.keys, apply_rotary(k, options_.heads, first));
  append(cache.values, v);
  AttentionOptions options = first == 0 ? self_options({}, {}) : cross_options({}, {});
  options.causal = first == 0;
  if (first > 0 && options_.exclude_self) {
    auto others = std::make_shared<Mask>(full<std::uint8_t>({batch, first + 1}, 1));
    for (std::size_t b = 0; b < batch; ++b) (*others)(b, first) = 0;
    options.masks.key_mask = std::move(others);
  }
  const Variable<T> bias = (*position_bias_)(tokens, first + tokens, first);
  return finish(attend_values(apply_rotary(q, options_.heads, first), cache.keys, cache.values,
                              options_.weights, options, bias, score_weight_),
                {});
}

template <class T>
KVCache<T> MultiHeadAttention<T>::project_memory(const Variable<T>& memory) const {
  return {cross_rotary(project(memory, 1), 0), project(memory, 2)};
}

template <class T>
Variable<T> MultiHeadAttention<T>::cross_decode_step(const Variable<T>& query, std::size_t first,
                                                     const KVCache<T>& memory,
                                                     const AttentionMasks& masks) const {
  return finish(attend_values(cross_rotary(project(query, 0), first), memory.keys, memory.values,
                              options_.weights, cross_options(masks, {}), {}, score_weight_),
                {});
}

#define XGRAD_INSTANTIATE(T)                                                                      \
  template struct KVCache<T>;                                                                     \
  template Variable<T> MultiHeadAttention<T>::decode_step(const Variable<T>&, KVCache<T>&) const; \
  template KVCache<T> MultiHeadAttention<T>::project_memory(const Variable<T>&) const;            \
  template Variable<T> MultiHeadAttention<T>::cross_decode_step(                                  \
      const Variable<T>&, std::size_t, const KVCache<T>&, const AttentionMasks&) const;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
