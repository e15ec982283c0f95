#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <xgrad/autograd/ops.hpp>

#include "support/gradients.hpp"
#include "support/tensors.hpp"

namespace xgrad::test {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <class T>
void expect_rows_sum_to_one(const Tensor<T>& y, double tolerance) {
  const std::size_t width = y.shape().back();
  for (std::size_t row = 0; row < y.size() / width; ++row) {
    double sum = 0;
    for (std::size_t i = 0; i < width; ++i) sum += double(y.data()[row * width + i]);
    EXPECT_NEAR(sum, 1, tolerance) << "row " << row;
  }
}

}  // namespace

TEST(Softmax, S0_7_RowsSumToOne) {
  for (const std::size_t n : {1u, 2u, 7u, 64u, 1000u}) {
    const auto x = random_tensor({5, n}, Rng(n), -20, 20);
    expect_rows_sum_to_one(softmax(Variable<double>(x)).value(), 1e-15 * double(n));
    expect_rows_sum_to_one(softmax(Variable<float>(cast<float>(x))).value(), 1e-7 * double(n));
  }
}

TEST(Softmax, S0_7_ConstantPerRowChangesNothing) {
  // Halves, so that adding and subtracting 1024 is exact.
  Tensor<double> x = empty<double>({3, 9});
  for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = 0.5 * double((7 * i) % 11);
  Tensor<double> shifted = x;
  for (std::size_t i = 0; i < x.size(); ++i) shifted.data()[i] += 1024;
  const auto y = softmax(Variable<double>(x)).value();
  EXPECT_TRUE(same_bits(softmax(Variable<double>(shifted)).value(), y));
  EXPECT_TRUE(same_bits(log_softmax(Variable<double>(shifted)).value(),
                        log_softmax(Variable<double>(x)).value()));
}

TEST(Softmax, S0_7_LargeScoresGiveNoNan) {
  const auto x = tensor<float>({2, 3}, {1e4f, -1e4f, 1e4f, -1e4f, -1e4f, 1e4f});
  EXPECT_TRUE(same_bits(softmax(Variable<float>(x)).value(),
                        tensor<float>({2, 3}, {.5f, 0, .5f, 0, 0, 1})));
  const auto log = log_softmax(Variable<double>(cast<double>(x))).value();
  EXPECT_TENSOR_NEAR(
      log, tensor({2, 3}, {-std::log(2), -2e4 - std::log(2), -std::log(2), -2e4, -2e4, 0.0}),
      1e-12);
}

TEST(Softmax, OfMinusInfinityIsZeroWithoutGradient) {
  const Variable<double> x(tensor({1, 3}, {1.0, -kInfinity, 1.0}), true);
  const auto y = softmax(x);
  EXPECT_TRUE(same_bits(y.value(), tensor({1, 3}, {0.5, 0.0, 0.5})));
  y.backward(tensor({1, 3}, {1.0, 5.0, 0.0}));
  EXPECT_TRUE(same_bits(x.grad(), tensor({1, 3}, {0.25, 0.0, -0.25})));
}

TEST(Softmax, S2_10_ARowOfMinusInfinityIsZeroWithoutGradient) {
  const Variable<double> x(tensor({2, 2}, {-kInfinity, -kInfinity, 1.0, 1.0}), true);
  const auto y = softmax(x);
  EXPECT_TRUE(same_bits(y.value(), tensor({2, 2}, {0.0, 0.0, 0.5, 0.5})));
  y.backward(tensor({2, 2}, {1.0, 5.0, 1.0, 0.0}));
  EXPECT_TENSOR_NEAR(x.grad(), tensor({2, 2}, {0.0, 0.0, 0.25, -0.25}), 0);
}

TEST(Softmax, OverOneElementIsConstant) {
  for (const double value : {0.3, -1e4}) {
    const Variable<double> x(tensor({2, 1}, {value, value}), true);
    const auto y = softmax(x);
    EXPECT_TRUE(same_bits(y.value(), full({2, 1}, 1.0)));
    y.backward(tensor({2, 1}, {0.7, -0.1}));
    EXPECT_TENSOR_NEAR(x.grad(), zeros<double>({2, 1}), 0);
    EXPECT_TENSOR_NEAR(log_softmax(x).value(), zeros<double>({2, 1}), 0);
  }
}

// With two logits d apart, dx_0 = y_0 y_1 (dy_0 - dy_1): all of its digits hold however far they
// are apart.
TEST(Softmax, DominantLogit) {
  for (const double d : {1.0, 10.0, 30.0, 100.0, 600.0}) {
    const Variable<double> x(tensor({1, 2}, {d, 0.0}), true);
    softmax(x).backward(tensor({1, 2}, {0.3, -0.4}));
    const double product = std::exp(-d) / ((1 + std::exp(-d)) * (1 + std::exp(-d)));
    EXPECT_TRUE(tensors_near(x.grad(), tensor({1, 2}, {0.7 * product, -0.7 * product}), 0, 4e-15))
        << d;
  }
}

TEST(Softmax, NanStaysInItsRow) {
  auto x = full<float>({2, 20}, 1);
  x(0, 17) = std::numeric_limits<float>::quiet_NaN();
  const auto y = softmax(Variable<float>(x)).value();
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_TRUE(std::isnan(y(0, i)));
    EXPECT_NEAR(y(1, i), 0.05f, 1e-8f);
  }
}

TEST(Softmax, OfNothingIsNothing) {
  EXPECT_EQ(softmax(Variable<double>(zeros<double>({0, 3}))).shape(), (Shape{0, 3}));
  EXPECT_EQ(softmax(Variable<double>(zeros<double>({3, 0}))).shape(), (Shape{3, 0}));
}

TEST(Softmax, NamesTheShape) {
  const Variable<double> x(full({}, 1.0));
  EXPECT_TRUE(
      throws_with<ShapeError>([&] { softmax(x); }, "softmax: expected at least one axis, got ()"));
  EXPECT_TRUE(throws_with<ShapeError>([&] { log_softmax(x); },
                                      "log_softmax: expected at least one axis, got ()"));
}

}  // namespace xgrad::test
