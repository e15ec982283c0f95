// MultiHeadAttention one token after another: keys and values of earlier tokens are kept.
#include <xgrad/autograd/kernels/rotary.hpp>
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
void AttentionCache<T>::select(const Ids& rows) {
  if (!keys.defined()) return;
  keys = gather(keys, 0, rows);
  values = gather(values, 0, rows);
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

// apply_rotary() of all heads, for tokens from position `first` on.
template <class T>
Variable<T> MultiHeadAttention<T>::rotated_from(std::size_t first, const Variable<T>& x) const {
  if (options_.positions != PositionKind::rotary) return x;
  const Shape& shape = x.shape();
  Tensor<T> y = empty<T>(shape);
  detail::RotaryTable<T>(first, shape[1], options_.head_dim, 10000)
      .rotate(x.value().data(), y.data(), shape[0] * shape[1], shape[2], options_.heads, T(1));
  return Variable<T>(std::move(y));
}

template <class T>
Variable<T> MultiHeadAttention<T>::cross_rotated_from(std::size_t first,
                                                      const Variable<T>& x) const {
  return options_.cross_positions ? rotated_from(first, x) : x;
}

// A token that follows others sees all keys, so it needs no causal mask.
template <class T>
Variable<T> MultiHeadAttention<T>::next(const Variable<T>& x, AttentionCache<T>& cache) const {
  const std::size_t first = cache.size(), batch = x.shape()[0], tokens = x.shape()[1];
  check_shape(first == 0 || tokens == 1, "attention: expected one token after ", first,
              " others, got ", tokens);
  const auto [q, k, v] = project_all(x);
  append(cache.keys, rotated_from(first, k));
  append(cache.values, v);
  AttentionOptions options = first == 0 ? self_options({}, {}) : cross_options({}, {});
  options.causal = first == 0;
  if (first > 0 && options_.exclude_self) {
    auto others = std::make_shared<Mask>(full<std::uint8_t>({batch, first + 1}, 1));
    for (std::size_t b = 0; b < batch; ++b) (*others)(b, first) = 0;
    options.masks.key_mask = std::move(others);
  }
  const Variable<T> bias = (*position_bias_)(tokens, first + tokens, first);
  return finish(attend_values(rotated_from(first, q), cache.keys, cache.values, options_.weights,
                              options, bias, score_weight_),
                {});
}

template <class T>
AttentionCache<T> MultiHeadAttention<T>::read(const Variable<T>& memory) const {
  return {cross_rotated_from(0, project(memory, 1)), project(memory, 2)};
}

template <class T>
Variable<T> MultiHeadAttention<T>::attend(const Variable<T>& query, std::size_t first,
                                          const AttentionCache<T>& memory,
                                          const AttentionMasks& masks) const {
  return finish(
      attend_values(cross_rotated_from(first, project(query, 0)), memory.keys, memory.values,
                    options_.weights, cross_options(masks, {}), {}, score_weight_),
      {});
}

#define XGRAD_INSTANTIATE(T)                                                                      \
  template struct AttentionCache<T>;                                                              \
  template Variable<T> MultiHeadAttention<T>::next(const Variable<T>&, AttentionCache<T>&) const; \
  template AttentionCache<T> MultiHeadAttention<T>::read(const Variable<T>&) const;               \
  template Variable<T> MultiHeadAttention<T>::attend(                                             \
      const Variable<T>&, std::size_t, const AttentionCache<T>&, const AttentionMasks&) const;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
