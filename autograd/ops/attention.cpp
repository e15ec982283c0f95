#include <xgrad/autograd/kernels/attention_kernel.hpp>

#include <algorithm>
#include <array>
#include <utility>

#include <xgrad/autograd/kernels/axes.hpp>
#include <xgrad/autograd/kernels/dropout_pieces.hpp>
#include <xgrad/autograd/kernels/operands.hpp>
#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/scalar.hpp>

// attention() and self_attention(), for q, k and v in three tensors or in one. Their formulas,
// forward and backward, are in autograd/kernels/attention_kernel.cpp.
namespace xgrad {

namespace {

using detail::AttentionBias;
using detail::AttentionGradients;
using detail::AttentionInputs;
using detail::AttentionProblem;
using detail::GradientTokens;
using detail::InputTokens;
using detail::Operand;
using detail::Tokens;

template <class T>
AttentionBias<T> bias_view(const char* op, const Tensor<T>& bias, const Shape& scores) {
  check_shape(bias.dimension() <= 4 && broadcast_shape(op, bias.shape(), scores) == scores, op,
              ": bias: expected a shape that broadcasts to ", scores, ", got ", bias.shape());
  const detail::Strides strides = detail::broadcast_strides(bias.shape(), scores);
  return {bias.data(), strides[0], strides[1], strides[2], strides[3]};
}

// View of part `part` of (B, N, parts heads width), whose rows hold `parts` parts side by side.
template <class P>
Tokens<P> tokens(P data, const Shape& shape, std::size_t heads, std::size_t part = 0,
                 std::size_t parts = 1) {
  const std::size_t width = shape[2] / parts;
  return {data + part * width, shape[1] * shape[2], width / heads, shape[2], width / heads};
}

// The base of attention() and self_attention().
template <class T>
struct AttentionOp : Op<T> {
  explicit AttentionOp(const AttentionOptions& options) : options(options) {}

  // The result for `in`, with the bias as input `bias_index`.
  Value<T> attend(const AttentionInputs<T>& in, std::size_t queries, std::size_t keys,
                  const Inputs<T>& x, std::size_t bias_index) {
    const std::size_t batch = x[0].shape()[0];
    inputs = in;
    bias = x.save(bias_index);
    scores = {batch, options.heads, queries, keys};
    if (bias) inputs.bias = bias_view(this->name(), *bias, scores);
    auto result = make_value<T>({batch, queries, options.heads * in.v.width});
    problem = {options, batch, queries, keys, in.q.width, bf16};
    normalisers = detail::attention_forward(problem, inputs,
                                            tokens(result->data(), result->shape(), options.heads));
    if (!bf16) {
      y = Saved<T>(result);
    } else if (problem.needs_result()) {
      y = Operand<T>(*result, true);
    }
    return result;
  }

  // Adds to the gradients that `d` wants. If the bias wants one, provides memory for the gradient
  // of the scores, which is then summed over the axes along which the bias was broadcast.
  void differentiate(const Tensor<T>& dy, AttentionGradients<T> d, Grads<T>& dx,
                     std::size_t bias_index) const {
    const bool wanted = bias && dx.wants(bias_index);
    Tensor<T> dbias = zeros<T>(wanted ? scores : Shape{0});
    if (wanted) d.scores = dbias.data();
    const Operand<T> operand(dy, bf16);
    detail::attention_backward(problem, normalisers, inputs,
                               tokens(y.data(), dy.shape(), options.heads),
                               tokens(operand.data(), dy.shape(), options.heads), d);
    if (wanted) dx.add(bias_index, std::move(dbias));
  }

  void check_options(std::size_t batch, std::size_t queries, std::size_t keys) const {
    check_shape(options.heads > 0, this->name(), ": expected at least one head, got 0");
    detail::check_dropout(this->name(), options.dropout);
    detail::check_masks(this->name(), options, batch, queries, keys);
  }

  AttentionOptions options;
  const bool bf16 = detail::products_in_bf16<T>();
  AttentionInputs<T> inputs;  // views
  Operand<T> y;               // none if the kernel's backward does not need the result
  Saved<T> bias;
  Shape scores;
  AttentionProblem problem;
  Tensor<T> normalisers;
};

template <class T>
struct Attention final : AttentionOp<T> {
  using AttentionOp<T>::AttentionOp, AttentionOp<T>::options, AttentionOp<T>::bf16;
  const char* name() const override { return "attention"; }
  const char* arguments() const override { return "q k v bias?"; }

  Value<T> forward(const Inputs<T>& in) override {
    const Shape &sq = in[0].shape(), &sk = in[1].shape(), &sv = in[2].shape();
    check_shapes(sq, sk, sv);
    for (std::size_t i = 0; i < 3; ++i) qkv[i] = detail::operand(in, i, bf16);
    return this->attend({view(0), view(1), view(2)}, sq[1], sk[1], in, 3);
  }

  void backward(Tensor<T> dy, Grads<T>& dx) const override {
    AttentionGradients<T> d;
    const std::array<GradientTokens<T>*, 3> all{&d.q, &d.k, &d.v};
    for (std::size_t i = 0; i < 3; ++i) {
      if (!dx.wants(i)) continue;
      const auto target = dx.target(i);
      *all[i] = {tokens(target.data(), dx.shape(i), options.heads), target.beta()};
      for (std::size_t j = 0; j < i; ++j) {  // if they are one Variable, they add to one buffer
        if (all[j]->data != target.data() || all[j]->beta != T(0)) continue;
        std::fill_n(target.data(), size_of(dx.shape(i)), T(0));
        all[j]->beta = T(1);
      }
    }
    this->differentiate(dy, d, dx, 3);
  }

  InputTokens<T> view(std::size_t i) const {
    return tokens(qkv[i].data(), qkv[i].shape(), options.heads);
  }

  void check_shapes(const Shape& sq, const Shape& sk, const Shape& sv) const {
    check_shape(sq.size() == 3 && sk.size() == 3 && sv.size() == 3,
                "attention: expected q (B, N, H d_k), k (B, M, H d_k), v (B, M, H d_v), got ", sq,
                ", ", sk, ", ", sv);
    check_shape(sq[0] == sk[0] && sq[0] == sv[0], "attention: batch sizes (axis 0) differ: q ", sq,
                ", k ", sk, ", v ", sv);
    check_shape(sk[1] == sv[1], "attention: numbers of keys and values (axis 1) differ: k ", sk,
                ", v ", sv);
    check_shape(sq[2] == sk[2], "attention: widths of q and k (axis 2) differ: q ", sq, ", k ", sk);
    this->check_options(sk[0], sq[1], sk[1]);
    check_shape(sq[2] % options.heads == 0 && sv[2] % options.heads == 0,
                "attention: ", options.heads, " heads do not divide the widths (axis 2) of q ", sq,
                " and v ", sv);
  }

  std::array<Operand<T>, 3> qkv;
};

template <class T>
struct SelfAttention final : AttentionOp<T> {
  using AttentionOp<T>::AttentionOp, AttentionOp<T>::options, AttentionOp<T>::bf16;
  const char* name() const override { return "self_attention"; }
  const char* arguments() const override { return "qkv bias?"; }

  Value<T> forward(const Inputs<T>& in) override {
    const Shape& shape = in[0].shape();
    check_shape(shape.size() == 3, "self_attention: expected (B, N, 3 H d), got ", shape);
    this->check_options(shape[0], shape[1], shape[1]);
    check_shape(shape[2] % (3 * options.heads) == 0, "self_attention: 3 times ", options.heads,
                " heads do not divide the width (axis 2) of ", shape);
    qkv = detail::operand(in, 0, bf16);
    const auto view = [&](std::size_t i) { return tokens(qkv.data(), shape, options.heads, i, 3); };
    return this->attend({view(0), view(1), view(2)}, shape[1], shape[1], in, 1);
  }

  void backward(Tensor<T> dy, Grads<T>& dx) const override {
    AttentionGradients<T> d;
    if (dx.wants(0)) {
      const auto target = dx.target(0);
      const auto view = [&](std::size_t i) {
        return GradientTokens<T>{tokens(target.data(), dx.shape(0), options.heads, i, 3),
                                 target.beta()};
      };
      d = {view(0), view(1), view(2)};
    }
    this->differentiate(dy, d, dx, 1);
  }

  Operand<T> qkv;
};

}  // namespace

template <class T>
Variable<T> attention(const Variable<T>& q, const Variable<T>& k, const Variable<T>& v,
                      const AttentionOptions& options, const Variable<T>& bias) {
  return apply<T>(std::make_unique<Attention<T>>(options), {q, k, v, bias});
}

template <class T>
Variable<T> self_attention(const Variable<T>& qkv, const AttentionOptions& options,
                           const Variable<T>& bias) {
  return apply<T>(std::make_unique<SelfAttention<T>>(options), {qkv, bias});
}

#define XGRAD_INSTANTIATE(T)                                                                 \
  template Variable<T> attention(const Variable<T>&, const Variable<T>&, const Variable<T>&, \
                                 const AttentionOptions&, const Variable<T>&);               \
  template Variable<T> self_attention(const Variable<T>&, const AttentionOptions&,           \
                                      const Variable<T>&);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
