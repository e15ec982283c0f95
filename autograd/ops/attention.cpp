// attention() and self_attention(), for q, k and v in three tensors or in one. Their formulas,
// forward and backward, are in autograd/kernels/attention_kernel.cpp. Also computes scores and
// masks by themselves, without blocks.

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <xgrad/autograd/kernels/attention_kernel.hpp>
#include <xgrad/autograd/kernels/dropout_pieces.hpp>
#include <xgrad/autograd/kernels/gemm.hpp>
#include <xgrad/autograd/kernels/loops.hpp>
#include <xgrad/autograd/kernels/operands.hpp>
#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/ops.hpp>

namespace xgrad {

namespace {

using detail::AttentionBias;
using detail::AttentionGradients;
using detail::AttentionInputs;
using detail::AttentionProblem;
using detail::GradientTokens;
using detail::Operand;
using detail::Tokens;

template <class T>
AttentionBias<T> bias_view(const char* op, const Tensor<T>& bias, const Shape& scores) {
  check_shape(bias.dimension() <= 4 && broadcast_shape(op, bias.shape(), scores) == scores, op,
              ": bias: expected a shape that broadcasts to ", scores, ", got ", bias.shape());
  const detail::Strides strides = detail::broadcast_strides(bias.shape(), scores);
  return {bias.data(), strides[0], strides[1], strides[2], strides[3]};
}

// attention() of q, k and v in three tensors, or self_attention() of one tensor with all three.
template <class T>
struct Attention final : Op<T> {
  Attention(const AttentionOptions& options, bool packed)
      : packed(packed), problem{options, 0, 0, 0, 0, detail::products_in_bf16<T>()} {}
  const char* name() const override { return packed ? "self_attention" : "attention"; }
  const char* arguments() const override { return packed ? "qkv bias?" : "q k v bias?"; }

  Value<T> forward(const Inputs<T>& x) override {
    packed ? check_packed(x[0].shape()) : check_apart(x[0].shape(), x[1].shape(), x[2].shape());
    for (std::size_t i = 0; i < bias_index(); ++i) qkv[i] = detail::operand(x, i, problem.bf16);
    const auto view = [&](std::size_t i) {
      return tokens(qkv[input(i)].data(), qkv[input(i)].shape(), i);
    };
    inputs = {view(0), view(1), view(2)};
    bias = x.save(bias_index());
    if (bias) inputs.bias = bias_view(name(), *bias, scores());
    problem.key_width = inputs.q.width;
    auto result = make_value<T>({problem.batch, problem.queries, heads() * inputs.v.width});
    normalisers =
        detail::attention_forward(problem, inputs, whole(result->data(), result->shape()));
    if (!problem.bf16) {
      y = Saved<T>(result);
    } else if (problem.needs_result()) {
      y = Operand<T>(*result, true);
    }
    return result;
  }

  // If the bias wants a gradient, provides memory for the gradient of the scores, which is then
  // summed over the axes along which the bias was broadcast.
  void backward(Tensor<T>& dy, Grads<T>& dx) const override {
    AttentionGradients<T> d;
    const std::array<GradientTokens<T>*, 3> all{&d.q, &d.k, &d.v};
    typename Grads<T>::Target target;
    for (std::size_t i = 0; i < 3; ++i) {
      if (!dx.wants(input(i))) continue;
      const Shape& shape = dx.shape(input(i));
      if (i == input(i)) target = dx.target(i);
      *all[i] = {tokens(target.data(), shape, i), target.beta()};
      // If q, k and v are the same Variable, their gradients add to one buffer.
      for (std::size_t j = 0; j < i && !packed; ++j) {
        if (all[j]->data != target.data() || all[j]->beta != T(0)) continue;
        std::fill_n(target.data(), size_of(shape), T(0));
        all[j]->beta = T(1);
      }
    }
    const bool wanted = bias && dx.wants(bias_index());
    Tensor<T> dbias = zeros<T>(wanted ? scores() : Shape{0});
    if (wanted) d.scores = dbias.data();
    const Operand<T> operand(dy, problem.bf16);
    detail::attention_backward(problem, normalisers, inputs, whole(y.data(), dy.shape()),
                               whole(operand.data(), dy.shape()), d);
    if (wanted) dx.add(bias_index(), std::move(dbias));
  }

  void check_apart(const Shape& sq, const Shape& sk, const Shape& sv) {
    check_shape(sq.size() == 3 && sk.size() == 3 && sv.size() == 3,
                "attention: expected q (B, N, H d_k), k (B, M, H d_k), v (B, M, H d_v), got ", sq,
                ", ", sk, ", ", sv);
    check_shape(sq[0] == sk[0] && sq[0] == sv[0], "attention: batch sizes (axis 0) differ: q ", sq,
                ", k ", sk, ", v ", sv);
    check_shape(sk[1] == sv[1], "attention: numbers of keys and values (axis 1) differ: k ", sk,
                ", v ", sv);
    check_shape(sq[2] == sk[2], "attention: widths of q and k (axis 2) differ: q ", sq, ", k ", sk);
    set_sizes(sk[0], sq[1], sk[1]);
    check_shape(sq[2] % heads() == 0 && sv[2] % heads() == 0, "attention: ", heads(),
                " heads do not divide the widths (axis 2) of q ", sq, " and v ", sv);
  }

  void check_packed(const Shape& shape) {
    check_shape(shape.size() == 3, "self_attention: expected (B, N, 3 H d), got ", shape);
    set_sizes(shape[0], shape[1], shape[1]);
    check_shape(shape[2] % (3 * heads()) == 0, "self_attention: 3 times ", heads(),
                " heads do not divide the width (axis 2) of ", shape);
  }

  void set_sizes(std::size_t batch, std::size_t queries, std::size_t keys) {
    check_shape(heads() > 0, name(), ": expected at least one head, got 0");
    detail::check_dropout(name(), problem.options.dropout);
    detail::check_masks(name(), problem.options, batch, queries, keys);
    problem.batch = batch, problem.queries = queries, problem.keys = keys;
  }

  std::size_t heads() const { return problem.options.heads; }
  Shape scores() const { return {problem.batch, heads(), problem.queries, problem.keys}; }
  // The input that holds q (0), k (1) or v (2).
  std::size_t input(std::size_t i) const { return packed ? 0 : i; }
  std::size_t bias_index() const { return packed ? 1 : 3; }

  // View of (B, N, H d).
  template <class P>
  Tokens<P> whole(P data, const Shape& shape) const {
    return {data, shape[1] * shape[2], shape[2] / heads(), shape[2], shape[2] / heads()};
  }
  // View of q (0), k (1) or v (2) in its input, of this shape.
  template <class P>
  Tokens<P> tokens(P data, const Shape& shape, std::size_t i) const {
    if (!packed) return whole(data, shape);
    const std::size_t width = shape[2] / 3, of_head = width / heads();
    return {data + i * width, shape[1] * shape[2], of_head, shape[2], of_head};
  }

  bool packed;
  AttentionProblem problem;
  std::array<Operand<T>, 3> qkv;
  AttentionInputs<T> inputs;  // views
  Operand<T> y;               // none if the kernel's backward does not need the result
  Saved<T> bias;
  Tensor<T> normalisers;
};

template <class T>
struct AdditiveScores final : Op<T> {
  const char* name() const override { return "additive_scores"; }
  const char* arguments() const override { return "q k weight"; }

  Value<T> forward(const Inputs<T>& in) override {
    check_inputs(in[0].shape(), in[1].shape(), in[2].shape());
    q = in.save(0), k = in.save(1), weight = in.save(2);
    batch = q->shape()[0], queries = q->shape()[1], keys = k->shape()[1];
    heads = weight->shape()[0], width = weight->shape()[1];
    auto y = make_value<T>({batch, heads, queries, keys});
    const std::size_t grain = detail::row_grain(keys * width);
    parallel_for(batch * heads * queries, grain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t row = begin; row < end; ++row) {
        const std::size_t head = row / queries;
        const T *a = first(*q, head) + row % queries * heads * width, *b = first(*k, head);
        const T* w = weight->data() + head % heads * width;
        T* s = y->data() + row * keys;
        for (std::size_t j = 0; j < keys; ++j, b += heads * width) {
          s[j] = detail::sum_terms<T>(
              width, [=](std::size_t c) { return w[c] * detail::tanh(a[c] + b[c]); });
        }
      }
    });
    return y;
  }

  // s_ij = sum_c w_c t_ijc with t = tanh(q_ic + k_jc), and tanh' = 1 - tanh^2. For
  // g_ijc = ds_ij w_c (1 - t_ijc^2):
  //   dq_ic = sum_j g_ijc,  dk_jc = sum_i g_ijc,  dw_c = sum_ij ds_ij t_ijc.
  // t is recomputed. A head of a sample is one task, since its queries add to the same dk.
  void backward(Tensor<T>& dy, Grads<T>& dx) const override {
    Tensor<T> dq = zeros<T>(q->shape()), dk = zeros<T>(k->shape());
    Tensor<T> sums = zeros<T>({batch, heads, width});
    const std::size_t grain = detail::row_grain(queries * keys * width);
    parallel_for(batch * heads, grain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t head = begin; head < end; ++head) {
        for (std::size_t i = 0; i < queries * keys; ++i) {
          const std::size_t n = i / keys * heads * width, m = i % keys * heads * width;
          backward_pair(dy.data()[head * queries * keys + i], first(*q, head) + n,
                        first(*k, head) + m, weight->data() + head % heads * width,
                        first(dq, head) + n, first(dk, head) + m, sums.data() + head * width);
        }
      }
    });
    dx.add(0, std::move(dq));
    dx.add(1, std::move(dk));
    if (dx.wants(2)) dx.add(2, std::move(sums));
  }

  void backward_pair(T ds, const T* a, const T* b, const T* w, T* da, T* db, T* dw) const {
#pragma omp simd
    for (std::size_t c = 0; c < width; ++c) {
      const T t = detail::tanh(a[c] + b[c]);
      const T g = ds * w[c] * ((T(1) - t) * (T(1) + t));
      da[c] += g;
      db[c] += g;
      dw[c] += ds * t;
    }
  }

  // Token 0 of a head of x (B, N, H a); `head` counts heads across samples.
  template <class X>
  auto first(X& x, std::size_t head) const {
    return x.data() + head / heads * x.shape()[1] * heads * width + head % heads * width;
  }

  void check_inputs(const Shape& sq, const Shape& sk, const Shape& sw) const {
    check_shape(sq.size() == 3 && sk.size() == 3 && sw.size() == 2,
                "additive_scores: expected q (B, N, H a), k (B, M, H a), weight (H, a), got ", sq,
                ", ", sk, ", ", sw);
    check_shape(sq[0] == sk[0], "additive_scores: batch sizes (axis 0) differ: q ", sq, ", k ", sk);
    check_shape(sq[2] == sk[2] && sq[2] == sw[0] * sw[1],
                "additive_scores: widths (axis 2) of q and k, and the size of weight, differ: q ",
                sq, ", k ", sk, ", weight ", sw);
  }

  Saved<T> q, k, weight;
  std::size_t batch = 0, heads = 0, queries = 0, keys = 0, width = 0;
};

}  // namespace

template <class T>
Variable<T> attention(const Variable<T>& q, const Variable<T>& k, const Variable<T>& v,
                      const AttentionOptions& options, const Variable<T>& bias) {
  return apply<T>(std::make_unique<Attention<T>>(options, false), {q, k, v, bias});
}

template <class T>
Variable<T> self_attention(const Variable<T>& qkv, const AttentionOptions& options,
                           const Variable<T>& bias) {
  return apply<T>(std::make_unique<Attention<T>>(options, true), {qkv, bias});
}

template <class T>
Variable<T> additive_scores(const Variable<T>& q, const Variable<T>& k, const Variable<T>& weight) {
  return apply<T>(std::make_unique<AdditiveScores<T>>(), {q, k, weight});
}

template <class T>
Tensor<T> attention_scores(const Tensor<T>& q, const Tensor<T>& k,
                           const AttentionOptions& options) {
  const Shape &sq = q.shape(), &sk = k.shape();
  check_shape(sq.size() == 3 && sk.size() == 3 && sq[0] == sk[0] && sq[2] == sk[2],
              "attention_scores: expected q (B, N, H d), k (B, M, H d), got ", sq, ", ", sk);
  const std::size_t heads = options.heads, batch = sq[0], width = sq[2];
  check_shape(heads > 0 && width % heads == 0, "attention_scores: ", heads,
              " heads do not divide the width of ", sq);
  const NoGrad no_grad;
  const auto split = [&](const Tensor<T>& x) {
    return transpose(reshape(Variable<T>(x), {batch, x.shape()[1], heads, width / heads}),
                     {0, 2, 1, 3});
  };
  const T factor = detail::attention_scale<T>(options, width / heads);
  return scale(matmul(split(q), split(k), false, true), factor).value();
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

#define XGRAD_INSTANTIATE(T)                                  \
  template decltype(attention<T>) attention<T>;               \
  template decltype(self_attention<T>) self_attention<T>;     \
  template decltype(additive_scores<T>) additive_scores<T>;   \
  template decltype(attention_scores<T>) attention_scores<T>; \
  template decltype(attention_probabilities<T>) attention_probabilities<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
