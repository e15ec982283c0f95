#include <limits>

#include <xgrad/autograd/kernels/attention_kernel.hpp>
#include <xgrad/autograd/kernels/gemm.hpp>
#include <xgrad/autograd/kernels/operands.hpp>
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
  const T scale = detail::attention_scale<T>(options, d);
  Tensor<T> scores = empty<T>({batch, heads, n, m});
  const bool bf16 = detail::products_in_bf16<T>();
  const detail::Operand<T> queries(q, bf16), keys(k, bf16);
  for (std::size_t i = 0; i < batch * heads; ++i) {
    const std::size_t b = i / heads, h = i % heads;
    gemm<T>(n, m, d, scale, {queries.data() + (b * n * width + h * d), width},
            {keys.data() + (b * m * width + h * d), width, Transpose::yes}, T(0),
            scores.data() + i * n * m, m);
  }
  return scores;
}

Mask attention_mask(const AttentionOptions& options, std::size_t batch, std::size_t queries,
                    std::size_t keys) {
  detail::check_masks("attention_mask", options, batch, queries, keys);
  Mask result = full<std::uint8_t>({batch, queries, keys}, 1);
  const auto& [key_mask, mask] = options.masks;
  if (key_mask) {
    result *= xt::not_equal(xt::view(*key_mask, xt::all(), xt::newaxis(), xt::all()), 0);
  }
  if (mask) result *= xt::not_equal(*mask, 0);
  const Ids key = xt::arange(std::int32_t(keys)), places = xt::arange(std::int32_t(queries));
  const Ids query = xt::view(places, xt::all(), xt::newaxis());
  if (options.causal) result *= xt::less_equal(key, query);
  if (options.exclude_self) result *= xt::not_equal(key, query);
  return result;
}

template <class T>
Tensor<T> attention_probabilities(const Tensor<T>& q, const Tensor<T>& k,
                                  const AttentionOptions& options, const Variable<T>& bias) {
  const char* const name = "attention_probabilities";
  Variable<T> scores(attention_scores(q, k, options));
  const Shape shape = scores.shape();  // A copy: `scores` becomes another tensor below.
  detail::check_masks(name, options, shape[0], shape[2], shape[3]);
  if (bias.defined()) {
    check_shape(broadcast_shape(name, bias.shape(), shape) == shape, name,
                ": bias: expected a shape that broadcasts to ", shape, ", got ", bias.shape());
    scores = add(scores, bias.detach());
  }
  Mask mask = attention_mask(options, shape[0], shape[2], shape[3]);
  mask.reshape({shape[0], 1, shape[2], shape[3]});
  const Variable<T> hidden(full(Shape{}, -std::numeric_limits<T>::infinity()));
  return softmax(where(mask, scores, hidden)).value();
}

#define XGRAD_INSTANTIATE(T)                                                     \
  template Tensor<T> attention_scores(const Tensor<T>&, const Tensor<T>&,        \
                                      const AttentionOptions&);                  \
  template Tensor<T> attention_probabilities(const Tensor<T>&, const Tensor<T>&, \
                                             const AttentionOptions&, const Variable<T>&);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
