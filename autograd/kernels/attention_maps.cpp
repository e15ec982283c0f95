#include <algorithm>
#include <cmath>
#include <limits>

#include <xgrad/autograd/kernels/attention_masks.hpp>
#include <xgrad/autograd/kernels/gemm.hpp>
#include <xgrad/autograd/kernels/operands.hpp>
#include <xgrad/autograd/kernels/rows.hpp>
#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/scalar.hpp>

// Plain attention without blocks, used to inspect models and to test the fused kernel.
namespace xgrad {

template <class T>
Tensor<T> attention_scores(const Tensor<T>& q, const Tensor<T>& k,
                           const AttentionOptions& options) {
  const Shape &sq = q.shape(), &sk = k.shape();
  check_shape(sq.size() == 3 && sk.size() == 3 && sq[0] == sk[0] && sq[2] == sk[2],
              "attention_scores: expected q (B, N, H d), k (B, M, H d), got ", sq, ", ", sk);
  const std::size_t heads = options.heads, batch = sq[0], n = sq[1], m = sk[1], width = sq[2];
  check_shape(heads > 0 && width % heads == 0, "attention_scores: ", heads,
              " heads do not divide the width of ", sq);
  const std::size_t d = width / heads;
  const T scale =
      T(options.scale ? *options.scale : 1 / std::sqrt(double(std::max<std::size_t>(1, d))));
  Tensor<T> scores = empty<T>({batch, heads, n, m});
  detail::with_operands<T>([&]<class In>() {
    const Tensor<In>&queries = detail::as_operand<In>(q), &keys = detail::as_operand<In>(k);
    for (std::size_t i = 0; i < batch * heads; ++i) {
      const std::size_t b = i / heads, h = i % heads;
      gemm<T, In>(n, m, d, scale, {queries.data() + b * n * width + h * d, width},
                  {keys.data() + b * m * width + h * d, width, Transpose::yes}, T(0),
                  scores.data() + i * n * m, m);
    }
  });
  return scores;
}

Mask attention_mask(const AttentionOptions& options, std::size_t batch, std::size_t queries,
                    std::size_t keys) {
  detail::check_masks("attention_mask", options, batch, queries, keys);
  Mask result = full<std::uint8_t>({batch, queries, keys}, 1);
  std::uint8_t* row = result.data();
  for (std::size_t i = 0; i < batch * queries; ++i, row += keys) {
    const std::size_t b = i / queries, n = i % queries;
    for (std::size_t j = 0; j < keys; ++j) {
      if (options.masks.key_mask) row[j] &= options.masks.key_mask->data()[b * keys + j] != 0;
      if (options.masks.mask) row[j] &= options.masks.mask->data()[i * keys + j] != 0;
      if (options.causal) row[j] &= j <= n;
      if (options.exclude_self) row[j] &= j != n;
    }
  }
  return result;
}

template <class T>
Tensor<T> attention_probabilities(const Tensor<T>& q, const Tensor<T>& k,
                                  const AttentionOptions& options, const Variable<T>& bias) {
  const char* const name = "attention_probabilities";
  Tensor<T> p = attention_scores(q, k, options);
  const std::size_t heads = options.heads, batch = q.shape()[0], n = q.shape()[1], m = k.shape()[1];
  const Shape shape = {batch, heads, n, m};
  detail::check_masks(name, options, batch, n, m);
  if (bias.defined()) {
    check_shape(broadcast_shape(name, bias.shape(), shape) == shape, name,
                ": bias: expected a shape that broadcasts to ", shape, ", got ", bias.shape());
    p = add(Variable<T>(p), bias.detach()).value();
  }
  const Mask mask = attention_mask(options, batch, n, m);
  for (std::size_t row = 0; row < p.size() / std::max<std::size_t>(1, m); ++row) {
    T* x = p.data() + row * m;
    const std::uint8_t* keep = mask.data() + (row / (heads * n) * n + row % n) * m;
    for (std::size_t j = 0; j < m; ++j) {
      if (!keep[j]) x[j] = -std::numeric_limits<T>::infinity();
    }
    const T largest = detail::row_max(x, m);
    const bool any = largest > -std::numeric_limits<T>::infinity();
    const T sum = any ? detail::exp_row(x, m, largest, x) : T(1);
    for (std::size_t j = 0; j < m; ++j) x[j] = any ? x[j] / sum : T(0);
  }
  return p;
}

#define XGRAD_INSTANTIATE(T)                                                     \
  template Tensor<T> attention_scores(const Tensor<T>&, const Tensor<T>&,        \
                                      const AttentionOptions&);                  \
  template Tensor<T> attention_probabilities(const Tensor<T>&, const Tensor<T>&, \
                                             const AttentionOptions&, const Variable<T>&);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
