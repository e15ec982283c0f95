// Operators on single elements.
#include <limits>

#include <xgrad/autograd/tensor.hpp>

#include "onnx_vectors/operators.hpp"

namespace xgrad::test {

namespace {

// erf from its only use here: gelu(x) = x/2 (1 + erf(x / sqrt 2)).
template <class T>
Results<T> erf_of(const VectorCase& c) {
  const Variable<T> x = in<T>(c, 0);
  const Tensor<T> y = gelu(scale(x, T(std::sqrt(2.0)))).value();
  Tensor<T> result = empty<T>(x.shape());
  for (std::size_t i = 0; i < y.size(); ++i) {
    const T z = x.value().data()[i] * T(std::sqrt(2.0));
    result.data()[i] = 2 * y.data()[i] / z - 1;
  }
  return {result};
}

// softplus from its only use here, the loss of a logit where the answer is no: ln(1 + e^x).
template <class T>
Results<T> softplus_of(const VectorCase& c) {
  const Variable<T> x = in<T>(c, 0);
  Tensor<T> y = empty<T>(x.shape());
  const Variable<T> flat = reshape(x, {y.size()}), no(zeros<T>({1}));
  for (std::size_t i = 0; i < y.size(); ++i) {
    y.data()[i] = binary_cross_entropy_with_logits(slice(flat, 0, i, i + 1), no).value().data()[0];
  }
  return {y};
}

// A bound that is left out is infinite. It has no file: where that is min, max comes second.
template <class T>
Results<T> clip_of(const VectorCase& c) {
  const T infinity = std::numeric_limits<T>::infinity();
  const std::size_t max_at = c.name == "test_clip_default_max" ? 1 : 2;
  const T min = max_at == 2 && c.inputs.size() > 1 ? T(c.inputs[1].values.at(0)) : -infinity;
  const T max = c.inputs.size() > max_at ? T(c.inputs[max_at].values.at(0)) : infinity;
  return {clamp(in<T>(c, 0), min, max).value()};
}

template <class T>
Results<T> where_of(const VectorCase& c) {
  return {where(c.inputs.at(0).as<std::uint8_t>(), in<T>(c, 1), in<T>(c, 2)).value()};
}

// The sum of several, times `factor`.
template <class T>
Results<T> sum_of(const VectorCase& c, double factor) {
  Variable<T> y = in<T>(c, 0);
  for (std::size_t i = 1; i < c.inputs.size(); ++i) y = add(y, in<T>(c, i));
  return {scale(y, T(factor)).value()};
}

}  // namespace

template <class T>
Operators<T> elementwise() {
  using V = Variable<T>;
  using C = VectorCase;
  const auto two = [](V (*f)(const V&, const V&)) -> Run<T> {
    return [f](const C& c) { return Results<T>{f(in<T>(c, 0), in<T>(c, 1)).value()}; };
  };
  const auto one = [](V (*f)(const V&)) -> Run<T> {
    return [f](const C& c) { return Results<T>{f(in<T>(c, 0)).value()}; };
  };
  return {
      {"Add", two(add<T>)},
      {"Sub", two(sub<T>)},
      {"Mul", two(mul<T>)},
      {"Div", two(div<T>)},
      {"Pow", two(pow<T>)},
      {"Sum", [](const C& c) { return sum_of<T>(c, 1); }},
      {"Mean", [](const C& c) { return sum_of<T>(c, 1 / double(c.inputs.size())); }},
      {"Neg", [](const C& c) { return Results<T>{scale(in<T>(c, 0), T(-1)).value()}; }},
      {"Relu", one(relu<T>)},
      {"Exp", one(exp<T>)},
      {"Log", one(log<T>)},
      {"Sqrt", one(sqrt<T>)},
      {"Clip", clip_of<T>},
      {"Where", where_of<T>},
      {"Tanh", one(tanh<T>)},
      {"Sigmoid", one(sigmoid<T>)},
      {"Softplus", softplus_of<T>},
      {"Erf", erf_of<T>},
  };
}

#define XGRAD_INSTANTIATE(T) template Operators<T> elementwise();
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad::test
