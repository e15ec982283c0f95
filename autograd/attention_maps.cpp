#include <algorithm>
#include <cmath>
#include <limits>

#include <xgrad/autograd/gemm.hpp>
#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/rows.hpp>
#include <xgrad/autograd/scalar.hpp>

// Attention spelled out, for inspection and as what the fused kernel is tested against: no blocks,
// no ops.
namespace xgrad {

template <class T>
Tensor<T> attention_scores(const Tensor<T>& q, const Tensor<T>& k, const Attention& options) {
  const Shape &sq = q.shape(), &sk = k.shape();
  check_shape(sq.size() == 3 && sk.size() == 3 && sq[0] == sk[0] && sq[2] == sk[2],
              "attention_scores: expected q (B, N, H d), k (B, M, H d), got ", sq, ", ", sk);
  const std::size_t heads = options.heads, batch = sq[0], n = sq[1], m = sk[1], width = sq[2];
  check_shape(heads > 0 && width % heads == 0, "attention_scores: ", heads,
              " heads do not divide the width of ", sq);
  const std::size_t d = width / heads;
  const T scale = T(options.scale ? *options.scale : 1 / std::sqrt(double(d)));
  Tensor<T> scores = empty<T>({batch, heads, n, m});
  for (std::size_t i = 0; i < batch * heads; ++i) {
    const std::size_t b = i / heads, h = i % heads;
    gemm<T>(n, m, d, scale, {q.data() + b * n * width + h * d, width},
            {k.data() + b * m * width + h * d, width, Transpose::yes}, T(0),
            scores.data() + i * n * m, m);
  }
  return scores;
}

template <class T>
Tensor<T> attention_probabilities(const Tensor<T>& q, const Tensor<T>& k,
                                  const Attention& options) {
  Tensor<T> p = attention_scores(q, k, options);
  const std::size_t heads = p.shape()[1], n = p.shape()[2], m = p.shape()[3];
  const Mask* mask = options.key_mask.get();
  const Shape expected{p.shape()[0], m};
  check_shape(!mask || mask->shape() == expected, "attention_probabilities: key_mask: expected ",
              expected, ", got ", mask ? mask->shape() : Shape{});
  for (std::size_t row = 0; row < p.size() / std::max<std::size_t>(1, m); ++row) {
    T* x = p.data() + row * m;
    for (std::size_t j = 0; mask && j < m; ++j) {
      if (!mask->data()[row / (heads * n) * m + j]) x[j] = -std::numeric_limits<T>::infinity();
    }
    const T largest = detail::row_max(x, m);
    const bool any = largest > -std::numeric_limits<T>::infinity();
    const T sum = any ? detail::exp_row(x, m, largest, x) : T(1);
    for (std::size_t j = 0; j < m; ++j) x[j] = any ? x[j] / sum : T(0);
  }
  return p;
}

#define XGRAD_INSTANTIATE(T)                                                                 \
  template Tensor<T> attention_scores(const Tensor<T>&, const Tensor<T>&, const Attention&); \
  template Tensor<T> attention_probabilities(const Tensor<T>&, const Tensor<T>&, const Attention&);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
