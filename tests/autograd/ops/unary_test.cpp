#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include <xgrad/autograd/ops.hpp>

#include "support/golden.hpp"
#include "support/tensors.hpp"

namespace xgrad::test {

namespace {

// f and f' at x, by the op in double.
template <class F>
std::pair<Tensor<double>, Tensor<double>> value_and_derivative(F f, const Tensor<double>& x) {
  const Variable<double> leaf(x, true);
  const Variable<double> y = f(leaf);
  y.backward(full(x.shape(), 1.0));
  return {y.value(), leaf.grad()};
}

double gelu_at(double x, Gelu kind = Gelu::exact) {
  return gelu(Variable<double>(tensor({}, {x})), kind).value()();
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

TEST(Gelu, S1_8_ValuesAndDerivatives) {
  const auto [y, dx] = value_and_derivative([](const auto& x) { return gelu(x); },
                                            tensor({5}, {1.0, -1.0, 0.5, 3.0, 0.0}));
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(y(i), worked_example("S1.8.y")(i), 5e-11);
  EXPECT_EQ(y(4), 0);
  EXPECT_NEAR(dx(0), worked_example("S1.8.dx")(0), 5e-11);
  EXPECT_NEAR(dx(1), worked_example("S1.8.dx")(1), 5e-11);
  EXPECT_DOUBLE_EQ(dx(4), worked_example("S1.8.dx")(2));
}

TEST(Gelu, S1_8_Minimum) {
  double least = 0, at = 0;
  for (double x = -1; x < -0.5; x += 1e-5) {
    if (gelu_at(x) < least) least = gelu_at(x), at = x;
  }
  EXPECT_NEAR(at, worked_example("S1.8.minimum")(0), 1e-4);
  EXPECT_NEAR(least, worked_example("S1.8.minimum")(1), 5e-10);
}

// The two kinds differ, but by no more than this.
TEST(Gelu, S1_8_DifferenceOfTheKinds) {
  double most = 0, at = 0;
  for (double x = -6; x <= 6; x += 1e-3) {
    const double difference = std::fabs(gelu_at(x) - gelu_at(x, Gelu::tanh));
    if (difference > most) most = difference, at = x;
  }
  EXPECT_NEAR(std::fabs(at), worked_example("S1.8.difference")(0), 2e-3);
  EXPECT_NEAR(most, worked_example("S1.8.difference")(1), 5e-9);
}

TEST(Gelu, TanhKindIsTheFormula) {
  const double x = 1.3;
  const double u = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  EXPECT_NEAR(gelu_at(x, Gelu::tanh), x / 2 * (1 + std::tanh(u)), 1e-15);
}

// x / (1 + e^-x) and its derivative, with 16 digits; the least value is minus Lambert's W of 1/e,
// at minus (1 + W).
TEST(Silu, ValuesAndDerivatives) {
  const double w = 0.2784645427610738;
  const auto [y, dx] = value_and_derivative([](const auto& x) { return silu(x); },
                                            tensor({4}, {1.0, -1.0, 0.0, -1 - w}));
  EXPECT_TENSOR_NEAR(y, tensor({4}, {0.7310585786300049, -0.2689414213699951, 0.0, -w}), 1e-15);
  EXPECT_TENSOR_NEAR(dx, tensor({4}, {0.9276705118714867, 0.07232948812851327, 0.5, 0.0}), 1e-15);
}

// sign(x) log(1 + |x|) and 1 / (1 + |x|), with 16 digits. Near 0, 1 + |x| would lose digits of x.
TEST(Symlog, ValuesAndDerivatives) {
  const auto [y, dx] = value_and_derivative([](const auto& x) { return symlog(x); },
                                            tensor({5}, {1.0, -1.0, -3.0, 1e-20, 99.0}));
  const double log2 = 0.6931471805599453, log100 = 4.605170185988092;
  EXPECT_TRUE(tensors_near(y, tensor({5}, {log2, -log2, -2 * log2, 1e-20, log100}), 0, 2e-16));
  EXPECT_TRUE(tensors_near(dx, tensor({5}, {0.5, 0.5, 0.25, 1.0, 0.01}), 0, 2e-16));
}

TEST(Symlog, EndsAndZeros) {
  const auto [y, dx] = value_and_derivative([](const auto& x) { return symlog(x); },
                                            tensor({4}, {0.0, -0.0, kInfinity, -kInfinity}));
  EXPECT_TRUE(same_bits(y, tensor({4}, {0.0, -0.0, kInfinity, -kInfinity})));
  EXPECT_TRUE(same_bits(dx, tensor({4}, {1.0, 1.0, 0.0, 0.0})));
}

// The definition of StableMax by Prieto et al. 2025: s(x_c) / sum_k s(x_k).
TEST(Symlog, SoftmaxOfItIsStableMax) {
  const Tensor<double> x = random_tensor({20, 7}, Rng(5), -50, 50);
  const Tensor<double> p = softmax(symlog(Variable<double>(x))).value();
  const auto s = [](double v) { return v >= 0 ? v + 1 : 1 / (1 - v); };
  for (std::size_t row = 0; row < 20; ++row) {
    double sum = 0;
    for (std::size_t c = 0; c < 7; ++c) sum += s(x(row, c));
    for (std::size_t c = 0; c < 7; ++c) EXPECT_NEAR(p(row, c), s(x(row, c)) / sum, 1e-15);
  }
}

// Softmax collapse: float rounds the probability of the target to 1, so the loss and the gradient
// of its logit are 0, which they are not in double, nor with StableMax.
TEST(Symlog, KeepsTheGradientThatSoftmaxLosesInFloat) {
  const auto loss_and_slope = []<class T>(bool stable, T) {
    const Variable<T> logits(tensor<T>({1, 3}, {20, -5, -9}), true);
    const Variable<T> loss =
        cross_entropy(stable ? symlog(logits) : logits, tensor<std::int32_t>({1}, {0}));
    loss.backward();
    return std::pair(double(loss.item()), double(logits.grad()(0, 0)));
  };
  EXPECT_EQ(loss_and_slope(false, 0.0f), std::pair(0.0, 0.0));
  EXPECT_GT(loss_and_slope(false, 0.0).first, 0);
  EXPECT_LT(loss_and_slope(false, 0.0).second, 0);
  // s is 21, 1/6 and 1/10, so the loss is log(1 + r) with r = (1/6 + 1/10) / 21, and its slope is
  // (p - 1) / 21 with p = 1 / (1 + r).
  const double r = (1.0 / 6 + 0.1) / 21, slope = -r / (1 + r) / 21;
  const auto [loss, found] = loss_and_slope(true, 0.0f);
  EXPECT_NEAR(loss, std::log1p(r), 1e-4 * r);
  EXPECT_NEAR(found, slope, 1e-4 * -slope);
}

// G5: kinks and saturation, to the bit.
TEST(Sigmoid, S4_15_ValuesAndDerivatives) {
  const auto [y, dx] = value_and_derivative([](const auto& x) { return sigmoid(x); },
                                            tensor({5}, {0, 1, -1, -kInfinity, kInfinity}));
  const double p = 0.7310585786300049;  // of S3.7, 0.731059 and 0.268941
  EXPECT_TENSOR_NEAR(y, tensor({5}, {0.5, p, 1 - p, 0, 1}), 1e-15);
  EXPECT_TENSOR_NEAR(dx, tensor({5}, {0.25, p * (1 - p), p * (1 - p), 0, 0}), 1e-15);
}

TEST(Unary, G5_Kinks) {
  const auto [y, dx] = value_and_derivative([](const auto& x) { return relu(x); },
                                            tensor({5}, {0.0, -0.0, -2.0, 3.0, 1e-300}));
  EXPECT_TRUE(same_bits(y, tensor({5}, {0.0, 0.0, 0.0, 3.0, 1e-300})));
  EXPECT_TRUE(same_bits(dx, tensor({5}, {0.0, 0.0, 0.0, 1.0, 1.0})));

  const auto [t, dt] = value_and_derivative([](const auto& x) { return tanh(x); },
                                            tensor({3}, {0.0, kInfinity, -kInfinity}));
  EXPECT_TRUE(same_bits(t, tensor({3}, {0.0, 1.0, -1.0})));
  EXPECT_TRUE(same_bits(dt, tensor({3}, {1.0, 0.0, 0.0})));
}

TEST(Unary, NanIsNotHidden) {
  const Variable<double> x(tensor({2}, {kNan, 1.0}));
  for (const auto& y : {relu(x), symlog(x), tanh(x), silu(x), gelu(x), gelu(x, Gelu::tanh)}) {
    EXPECT_TRUE(std::isnan(y.value()(0)));
    EXPECT_FALSE(std::isnan(y.value()(1)));
  }
  const Variable<float> single(cast<float>(x.value()));
  for (const auto& y : {relu(single), symlog(single), tanh(single), silu(single), gelu(single),
                        gelu(single, Gelu::tanh)}) {
    EXPECT_TRUE(std::isnan(y.value()(0)));
    EXPECT_FALSE(std::isnan(y.value()(1)));
  }
}

// Far out, GELU and SiLU are x or 0 and their derivatives 1 or 0; squares and cubes of x overflow
// there, and so does e^-x.
template <class T>
void saturates() {
  const T huge = std::sqrt(std::numeric_limits<T>::max()) * 2;
  const auto expect = [&](auto f, T far) {
    const Variable<T> x(tensor<T>({4}, {far, huge, -far, -huge}), true);
    const Variable<T> y = f(x);
    y.backward(full({4}, T(1)));
    EXPECT_TENSOR_NEAR(y.value(), tensor<T>({4}, {far, huge, T(0), T(0)}), 2e-18);
    EXPECT_TENSOR_NEAR(x.grad(), tensor<T>({4}, {T(1), T(1), T(0), T(0)}), 2e-18);
  };
  expect([](const auto& x) { return gelu(x); }, T(40));
  expect([](const auto& x) { return gelu(x, Gelu::tanh); }, T(40));
  expect([](const auto& x) { return silu(x); }, T(80));
}

TEST(Unary, SaturatesInFloat) {
  saturates<float>();
}
TEST(Unary, SaturatesInDouble) {
  saturates<double>();
}

// float runs on polynomials of its own: everywhere within a few units of double's result.
TEST(Unary, G4_FloatFollowsDouble) {
  constexpr std::size_t count = 200003;  // more than a block, and no multiple of a vector
  Tensor<float> x = empty<float>({count});
  for (std::size_t i = 0; i < count; ++i) x.data()[i] = float(i) * (24.0f / count) - 12.0f;
  const auto compare = [&](auto f) {
    const Variable<float> a(x, true);
    const Variable<double> b(cast<double>(x), true);
    const auto ya = f(a);
    const auto yb = f(b);
    ya.backward(full({count}, 1.0f));
    yb.backward(full({count}, 1.0));
    EXPECT_TRUE(tensors_near(ya.value(), yb.value(), 1e-6, 2e-7));
    EXPECT_TRUE(tensors_near(a.grad(), b.grad(), 2e-6));
  };
  compare([](const auto& v) { return relu(v); });
  compare([](const auto& v) { return symlog(v); });
  compare([](const auto& v) { return tanh(v); });
  compare([](const auto& v) { return sigmoid(v); });
  compare([](const auto& v) { return silu(v); });
  compare([](const auto& v) { return gelu(v); });
  compare([](const auto& v) { return gelu(v, Gelu::tanh); });
}

}  // namespace xgrad::test
