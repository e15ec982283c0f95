#include <xgrad/autograd/kernels/attention_kernel.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <xgrad/autograd/kernels/attention_masks.hpp>
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
using detail::AttentionKernel;
using detail::GradientTokens;
using detail::InputOperand;
using detail::Tokens;

void check_options(const char* op, const AttentionOptions& options, std::size_t batch,
                   std::size_t queries, std::size_t keys) {
  check_shape(options.heads > 0, op, ": expected at least one head, got 0");
  detail::check_dropout(op, options.dropout);
  detail::check_masks(op, options, batch, queries, keys);
}

template <class T>
AttentionBias<T> bias_view(const char* op, const Tensor<T>& bias, const Shape& scores) {
  check_shape(bias.dimension() <= 4 && broadcast_shape(op, bias.shape(), scores) == scores, op,
              ": bias: expected a shape that broadcasts to ", scores, ", got ", bias.shape());
  const detail::Strides strides = detail::broadcast_strides(bias.shape(), scores);
  return {bias.data(), strides[0], strides[1], strides[2], strides[3]};
}

// The result in the type of the products' inputs; null if the kernel's backward does not need it.
template <class In, class T>
Saved<In> kept_result(const Value<T>& result, const AttentionKernel<T, In>& kernel) {
  if constexpr (std::is_same_v<In, T>) {
    return result;
  } else {
    return kernel.needs_result() ? std::make_shared<const Tensor<In>>(rounded(*result)) : nullptr;
  }
}

// Runs backward(d). If the bias, input `index`, wants a gradient, provides memory for the gradient
// of the scores, which is then summed over the axes along which the bias was broadcast.
template <class T, class Backward>
void with_bias(Grads<T>& dx, std::size_t index, bool has_bias, const Shape& scores,
               AttentionGradients<T> d, const Backward& backward) {
  if (!has_bias || !dx.wants(index)) return backward(d);
  Tensor<T> dbias = zeros<T>(scores);
  d.scores = dbias.data();
  backward(d);
  dx.add(index, std::move(dbias));
}

// View of part `part` of (B, N, parts heads width), whose rows hold `parts` parts side by side.
template <class P>
Tokens<P> tokens(P* data, const Shape& shape, std::size_t heads, std::size_t part = 0,
                 std::size_t parts = 1) {
  const std::size_t width = shape[2] / parts, head = width / heads;
  return {data + part * width, shape[1] * shape[2], head, shape[2], head};
}

// The kept result, which may be null, in the shape of its gradient.
template <class P>
Tokens<const P> result_view(const Saved<P>& y, const Tensor<P>& dy, std::size_t heads) {
  return tokens<const P>(y ? y->data() : nullptr, dy.shape(), heads);
}

template <class T, class In>
struct AttentionOp final : Op<T> {
  explicit AttentionOp(const AttentionOptions& options) : options(options) {}
  const char* name() const override { return "attention"; }
  const char* arguments() const override { return "q k v bias?"; }

  Value<T> forward(const Inputs<T>& in) override {
    check_inputs(in[0].shape(), in[1].shape(), in[2].shape());
    q = InputOperand<T, In>(in, 0).save();
    k = InputOperand<T, In>(in, 1).save();
    v = InputOperand<T, In>(in, 2).save();
    bias = in.save(3);
    const Shape& shape = q->shape();
    scores = {shape[0], options.heads, shape[1], k->shape()[1]};
    if (bias) view = bias_view(name(), *bias, scores);
    auto result = make_value<T>({shape[0], shape[1], v->shape()[2]});
    kernel.emplace(options,
                   detail::AttentionSizes{shape[0], options.heads, shape[1], k->shape()[1]},
                   shape[2] / options.heads);
    kernel->forward(inputs(), tokens(result->data(), result->shape(), options.heads));
    y = kept_result<In>(result, *kernel);
    return result;
  }

  void backward(Tensor<T> dy, Grads<T>& dx) const override {
    AttentionGradients<T> d;
    const std::array<GradientTokens<T>*, 3> all{&d.q, &d.k, &d.v};
    for (std::size_t i = 0; i < 3; ++i) {
      if (!dx.wants(i)) continue;
      const Tensor<In>& input = i == 0 ? *q : i == 1 ? *k : *v;
      const auto target = dx.target(i);
      *all[i] = {tokens(target.data, input.shape(), options.heads), target.beta()};
      for (std::size_t j = 0; j < i; ++j) {  // if they are one Variable, they add to one buffer
        if (all[j]->data != target.data || all[j]->beta != T(0)) continue;
        std::fill_n(target.data, input.size(), T(0));
        all[j]->beta = T(1);
      }
    }
    const Tensor<In>& operand = detail::as_operand<In>(dy);
    with_bias(dx, 3, bias != nullptr, scores, d, [&](const AttentionGradients<T>& wanted) {
      kernel->backward(inputs(), result_view(y, operand, options.heads),
                       tokens<const In>(operand.data(), dy.shape(), options.heads), wanted);
    });
  }

  AttentionInputs<T, In> inputs() const {
    return {tokens(q->data(), q->shape(), options.heads),
            tokens(k->data(), k->shape(), options.heads),
            tokens(v->data(), v->shape(), options.heads), view};
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
    check_options("attention", options, sk[0], sq[1], sk[1]);
    check_shape(sq[2] % options.heads == 0 && sv[2] % options.heads == 0,
                "attention: ", options.heads, " heads do not divide the widths (axis 2) of q ", sq,
                " and v ", sv);
  }

  AttentionOptions options;
  Saved<In> q, k, v, y;
  Saved<T> bias;
  Shape scores;
  AttentionBias<T> view;
  std::optional<AttentionKernel<T, In>> kernel;
};

template <class T, class In>
struct SelfAttention final : Op<T> {
  explicit SelfAttention(const AttentionOptions& options) : options(options) {}
  const char* name() const override { return "self_attention"; }
  const char* arguments() const override { return "qkv bias?"; }

  Value<T> forward(const Inputs<T>& in) override {
    const Shape& shape = in[0].shape();
    check_shape(shape.size() == 3, "self_attention: expected (B, N, 3 H d), got ", shape);
    check_options("self_attention", options, shape[0], shape[1], shape[1]);
    check_shape(shape[2] % (3 * options.heads) == 0, "self_attention: 3 times ", options.heads,
                " heads do not divide the width (axis 2) of ", shape);
    qkv = InputOperand<T, In>(in, 0).save();
    bias = in.save(1);
    scores = {shape[0], options.heads, shape[1], shape[1]};
    if (bias) view = bias_view(name(), *bias, scores);
    auto result = make_value<T>({shape[0], shape[1], shape[2] / 3});
    kernel.emplace(options, detail::AttentionSizes{shape[0], options.heads, shape[1], shape[1]},
                   shape[2] / 3 / options.heads);
    kernel->forward(inputs(), tokens(result->data(), result->shape(), options.heads));
    y = kept_result<In>(result, *kernel);
    return result;
  }

  void backward(Tensor<T> dy, Grads<T>& dx) const override {
    AttentionGradients<T> d;
    if (dx.wants(0)) {
      const auto target = dx.target(0);
      d.q = {part(target.data, 0), target.beta()};
      d.k = {part(target.data, 1), target.beta()};
      d.v = {part(target.data, 2), target.beta()};
    }
    const Tensor<In>& operand = detail::as_operand<In>(dy);
    with_bias(dx, 1, bias != nullptr, scores, d, [&](const AttentionGradients<T>& wanted) {
      kernel->backward(inputs(), result_view(y, operand, options.heads),
                       tokens<const In>(operand.data(), dy.shape(), options.heads), wanted);
    });
  }

  AttentionInputs<T, In> inputs() const {
    return {part(qkv->data(), 0), part(qkv->data(), 1), part(qkv->data(), 2), view};
  }

  template <class P>
  Tokens<P> part(P* data, std::size_t i) const {
    return tokens(data, qkv->shape(), options.heads, i, 3);
  }

  AttentionOptions options;
  Saved<In> qkv, y;
  Saved<T> bias;
  Shape scores;
  AttentionBias<T> view;
  std::optional<AttentionKernel<T, In>> kernel;
};

}  // namespace

template <class T>
Variable<T> attention(const Variable<T>& q, const Variable<T>& k, const Variable<T>& v,
                      const AttentionOptions& options, const Variable<T>& bias) {
  auto op = detail::with_operands<T>([&]<class In>() -> std::unique_ptr<Op<T>> {
    return std::make_unique<AttentionOp<T, In>>(options);
  });
  return apply<T>(std::move(op), {q, k, v, bias});
}

template <class T>
Variable<T> self_attention(const Variable<T>& qkv, const AttentionOptions& options,
                           const Variable<T>& bias) {
  auto op = detail::with_operands<T>([&]<class In>() -> std::unique_ptr<Op<T>> {
    return std::make_unique<SelfAttention<T, In>>(options);
  });
  return apply<T>(std::move(op), {qkv, bias});
}

#define XGRAD_INSTANTIATE(T)                                                                 \
  template Variable<T> attention(const Variable<T>&, const Variable<T>&, const Variable<T>&, \
                                 const AttentionOptions&, const Variable<T>&);               \
  template Variable<T> self_attention(const Variable<T>&, const AttentionOptions&,           \
                                      const Variable<T>&);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
