#include <xgrad/autograd/attention_kernel.hpp>

#include <algorithm>
#include <array>
#include <optional>

#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/scalar.hpp>

// The formulas, forward and backward, stand in autograd/attention_kernel.cpp; here are the two ways
// in which q, k and v lie in memory.
namespace xgrad {

namespace {

using detail::AttentionGradients;
using detail::AttentionInputs;
using detail::AttentionKernel;
using detail::GradientTokens;
using detail::Tokens;

void check_options(const char* op, const Attention& options, std::size_t batch, std::size_t keys) {
  check_shape(options.heads > 0, op, ": expected at least one head, got 0");
  check_shape(options.dropout.p >= 0 && options.dropout.p < 1, op,
              ": expected 0 <= dropout.p < 1, got ", options.dropout.p);
  if (!options.key_mask) return;
  const Shape expected{batch, keys};
  check_shape(options.key_mask->shape() == expected, op, ": key_mask: expected ", expected,
              ", got ", options.key_mask->shape());
}

// Part `part` of `parts` side by side in the rows of (B, N, parts heads width).
template <class P>
Tokens<P> tokens(P* data, const Shape& shape, std::size_t heads, std::size_t part = 0,
                 std::size_t parts = 1) {
  const std::size_t width = shape[2] / parts;
  return {data + part * width, shape[1] * shape[2], shape[2], width / heads};
}

template <class T>
struct AttentionOp final : Op<T> {
  explicit AttentionOp(const Attention& options) : options(options) {}
  const char* name() const override { return "attention"; }

  Value<T> forward(const Inputs<T>& in) override {
    check_inputs(in[0].shape(), in[1].shape(), in[2].shape());
    q = in.save(0), k = in.save(1), v = in.save(2);
    const Shape& shape = q->shape();
    auto result = make_value<T>({shape[0], shape[1], v->shape()[2]});
    kernel.emplace(options, detail::AttentionSizes{shape[0], shape[1], k->shape()[1]},
                   shape[2] / options.heads);
    kernel->forward(inputs(), tokens(result->data(), result->shape(), options.heads));
    y = result;
    return result;
  }

  void backward(Tensor<T> dy, Grads<T>& dx) const override {
    AttentionGradients<T> d;
    const std::array<GradientTokens<T>*, 3> all{&d.q, &d.k, &d.v};
    for (std::size_t i = 0; i < 3; ++i) {
      if (!dx.wants(i)) continue;
      const Tensor<T>& input = i == 0 ? *q : i == 1 ? *k : *v;
      const auto target = dx.target(i);
      *all[i] = {tokens(target.data, input.shape(), options.heads), target.beta()};
      for (std::size_t j = 0; j < i; ++j) {  // q, k and v that are one variable add to one buffer
        if (all[j]->data != target.data || all[j]->beta != T(0)) continue;
        std::fill_n(target.data, input.size(), T(0));
        all[j]->beta = T(1);
      }
    }
    kernel->backward(inputs(), tokens<const T>(y->data(), y->shape(), options.heads),
                     tokens<const T>(dy.data(), dy.shape(), options.heads), d);
  }

  AttentionInputs<T> inputs() const {
    return {tokens(q->data(), q->shape(), options.heads),
            tokens(k->data(), k->shape(), options.heads),
            tokens(v->data(), v->shape(), options.heads)};
  }

  void check_inputs(const Shape& sq, const Shape& sk, const Shape& sv) const {
    check_shape(sq.size() == 3 && sk.size() == 3 && sv.size() == 3,
                "attention: expected q (B, N, H d_k), k (B, M, H d_k), v (B, M, H d_v), got ", sq,
                ", ", sk, ", ", sv);
    check_shape(sq[0] == sk[0] && sq[0] == sv[0], "attention: batch sizes (axis 0) differ: q ", sq,
                ", k ", sk, ", v ", sv);
    check_shape(sk[1] == sv[1], "attention: numbers of keys and values (axis 1) differ: k ", sk,
                ", v ", sv);
    check_shape(sq[2] == sk[2], "attention: widths of q and k (axis 2) differ: q ", sq, ", k ", sk);
    check_options("attention", options, sk[0], sk[1]);
    check_shape(sq[2] % options.heads == 0 && sv[2] % options.heads == 0,
                "attention: ", options.heads, " heads do not divide the widths (axis 2) of q ", sq,
                " and v ", sv);
  }

  Attention options;
  Saved<T> q, k, v, y;
  std::optional<AttentionKernel<T>> kernel;
};

template <class T>
struct SelfAttention final : Op<T> {
  explicit SelfAttention(const Attention& options) : options(options) {}
  const char* name() const override { return "self_attention"; }

  Value<T> forward(const Inputs<T>& in) override {
    const Shape& shape = in[0].shape();
    check_shape(shape.size() == 3, "self_attention: expected (B, N, 3 H d), got ", shape);
    check_options("self_attention", options, shape[0], shape[1]);
    check_shape(shape[2] % (3 * options.heads) == 0, "self_attention: 3 times ", options.heads,
                " heads do not divide the width (axis 2) of ", shape);
    qkv = in.save(0);
    auto result = make_value<T>({shape[0], shape[1], shape[2] / 3});
    kernel.emplace(options, detail::AttentionSizes{shape[0], shape[1], shape[1]},
                   shape[2] / 3 / options.heads);
    kernel->forward({part(qkv->data(), 0), part(qkv->data(), 1), part(qkv->data(), 2)},
                    tokens(result->data(), result->shape(), options.heads));
    y = result;
    return result;
  }

  void backward(Tensor<T> dy, Grads<T>& dx) const override {
    const auto target = dx.target(0);
    kernel->backward({part(qkv->data(), 0), part(qkv->data(), 1), part(qkv->data(), 2)},
                     tokens(y->data(), y->shape(), options.heads),
                     tokens<const T>(dy.data(), dy.shape(), options.heads),
                     {{part(target.data, 0), target.beta()},
                      {part(target.data, 1), target.beta()},
                      {part(target.data, 2), target.beta()}});
  }

  template <class P>
  Tokens<P> part(P* data, std::size_t i) const {
    return tokens(data, qkv->shape(), options.heads, i, 3);
  }

  Attention options;
  Saved<T> qkv, y;
  std::optional<AttentionKernel<T>> kernel;
};

}  // namespace

template <class T>
Variable<T> attention(const Variable<T>& q, const Variable<T>& k, const Variable<T>& v,
                      const Attention& options) {
  return apply<T>(std::make_unique<AttentionOp<T>>(options), {q, k, v});
}

template <class T>
Variable<T> self_attention(const Variable<T>& qkv, const Attention& options) {
  return apply<T>(std::make_unique<SelfAttention<T>>(options), {qkv});
}

#define XGRAD_INSTANTIATE(T)                                                                 \
  template Variable<T> attention(const Variable<T>&, const Variable<T>&, const Variable<T>&, \
                                 const Attention&);                                          \
  template Variable<T> self_attention(const Variable<T>&, const Attention&);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
