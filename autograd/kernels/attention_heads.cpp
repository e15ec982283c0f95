#include <xgrad/autograd/kernels/attention_heads.hpp>

#include <algorithm>

#include <xgrad/autograd/bfloat16.hpp>
#include <xgrad/autograd/parallel.hpp>
#include <xgrad/autograd/scalar.hpp>

namespace xgrad::detail {

namespace {

// Calls copy(index of the head, its first row) for the heads of all samples, in parallel.
template <class T, class Copy>
void for_each_head(const Tokens<const T>& x, const AttentionSizes& sizes, const Copy& copy) {
  parallel_for(sizes.batch * sizes.heads, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) copy(i, x.head(i / sizes.heads, i % sizes.heads));
  });
}

}  // namespace

template <class T>
Tensor<T> transposed_heads(const Tokens<const T>& x, const AttentionSizes& sizes, std::size_t piece,
                           std::size_t stride) {
  const std::size_t pieces = (sizes.keys + piece - 1) / piece, size = x.width * stride;
  Tensor<T> out = empty<T>({sizes.batch * sizes.heads, pieces, size});
  for_each_head(x, sizes, [&](std::size_t head, const T* from) {
    for (std::size_t key = 0; key < sizes.keys; ++key, from += x.row) {
      T* to = out.data() + (head * pieces + key / piece) * size + key % piece;
      for (std::size_t c = 0; c < x.width; ++c) to[c * stride] = from[c];
    }
  });
  return out;
}

template <class T>
Tokens<const T> packed_heads(const Tokens<const T>& x, const AttentionSizes& sizes,
                             Tensor<T>& memory) {
  const std::size_t size = sizes.keys * x.width;
  memory = empty<T>({sizes.batch, sizes.heads, sizes.keys, x.width});
  for_each_head(x, sizes, [&](std::size_t head, const T* from) {
    T* to = memory.data() + head * size;
    for (std::size_t key = 0; key < sizes.keys; ++key, from += x.row, to += x.width) {
      std::copy_n(from, x.width, to);
    }
  });
  return {memory.data(), sizes.heads * size, size, x.width, x.width};
}

#define XGRAD_INSTANTIATE(T)                                                                      \
  template Tensor<T> transposed_heads(const Tokens<const T>&, const AttentionSizes&, std::size_t, \
                                      std::size_t);                                               \
  template Tokens<const T> packed_heads(const Tokens<const T>&, const AttentionSizes&, Tensor<T>&);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)
XGRAD_INSTANTIATE(Bf16)

}  // namespace xgrad::detail
