#include <xgrad/autograd/kernels/attention_heads.hpp>

#include <algorithm>

#include <xgrad/autograd/parallel.hpp>
#include <xgrad/autograd/scalar.hpp>

namespace xgrad::detail {

namespace {

// A tensor of `shape` with elements of E. Calls copy(its part, the first token) for each head of
// all samples, in parallel.
template <class E, class T, class Copy>
Operand<T> copied_as(const InputTokens<T>& x, const AttentionSizes& sizes, const Shape& shape,
                     const Copy& copy) {
  const auto result = std::make_shared<Tensor<E>>(empty<E>(shape));
  const std::size_t heads = sizes.batch * sizes.heads;
  const std::size_t size = result->size() / std::max<std::size_t>(1, heads);
  parallel_for(heads, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      copy(result->data() + i * size, x.head(i / sizes.heads, i % sizes.heads).template of<E>());
    }
  });
  return Operand<T>(Saved<E>(result));
}

template <class T, class Copy>
Operand<T> copied(const InputTokens<T>& x, const AttentionSizes& sizes, const Shape& shape,
                  const Copy& copy) {
  if constexpr (std::is_same_v<T, float>) {
    if (x.data.is_bf16()) return copied_as<Bf16>(x, sizes, shape, copy);
  }
  return copied_as<T>(x, sizes, shape, copy);
}

}  // namespace

template <class T>
Operand<T> transposed_heads(const InputTokens<T>& x, const AttentionSizes& sizes, std::size_t piece,
                            std::size_t stride) {
  const std::size_t pieces = (sizes.keys + piece - 1) / piece, size = x.width * stride;
  return copied(x, sizes, {sizes.batch * sizes.heads, pieces, size}, [&](auto* all, auto* from) {
    for (std::size_t key = 0; key < sizes.keys; ++key, from += x.row) {
      auto* to = all + key / piece * size + key % piece;
      for (std::size_t c = 0; c < x.width; ++c) to[c * stride] = from[c];
    }
  });
}

template <class T>
Operand<T> packed_heads(const InputTokens<T>& x, const AttentionSizes& sizes) {
  return copied(x, sizes, {sizes.batch, sizes.heads, sizes.keys, x.width},
                [&](auto* to, auto* from) {
                  for (std::size_t key = 0; key < sizes.keys; ++key, from += x.row, to += x.width) {
                    std::copy_n(from, x.width, to);
                  }
                });
}

#define XGRAD_INSTANTIATE(T)                                                                      \
  template Operand<T> transposed_heads(const InputTokens<T>&, const AttentionSizes&, std::size_t, \
                                       std::size_t);                                              \
  template Operand<T> packed_heads(const InputTokens<T>&, const AttentionSizes&);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad::detail
