#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include <xgrad/autograd/ops.hpp>

#include "support/gradients.hpp"
#include "support/tensors.hpp"

namespace xgrad::test {

namespace {

template <class T>
Variable<T> normalised(const Variable<T>& x, double eps = 1e-5) {
  return rms_norm(x, Variable<T>(full({x.shape().back()}, T(1))), eps);
}

Tensor<double> times(Tensor<double> x, double factor) {
  std::for_each(x.data(), x.data() + x.size(), [=](double& v) { v *= factor; });
  return x;
}

}  // namespace

// The mean of 9 and 16 is 25/2, so r = sqrt(2)/5 and xhat = r (3, 4); of dy = (1, 0),
// dx = r (1 - xhat_0^2 / 2, -xhat_0 xhat_1 / 2) = r (0.64, -0.48).
TEST(RmsNorm, ByHand) {
  const Variable<double> x(tensor({1, 2}, {3.0, 4.0}), true);
  const Variable<double> weight(full({2}, 1.0), true);
  const auto y = rms_norm(x, weight, 0);
  const double r = std::numbers::sqrt2 / 5;
  EXPECT_TENSOR_NEAR(y.value(), tensor({1, 2}, {3 * r, 4 * r}), 1e-15);
  y.backward(tensor({1, 2}, {1.0, 0.0}));
  EXPECT_TENSOR_NEAR(x.grad(), tensor({1, 2}, {0.64 * r, -0.48 * r}), 1e-15);
  EXPECT_TENSOR_NEAR(weight.grad(), tensor({2}, {3 * r, 0}), 1e-15);
}

// x = (1, 2, 3, 4), eps = 1e-5, evaluated with 30 digits; the mean of the squares is 7.5.
TEST(RmsNorm, Golden) {
  const Variable<double> x(tensor({1, 4}, {1.0, 2.0, 3.0, 4.0}), true);
  const auto y = normalised(x);
  EXPECT_TENSOR_NEAR(y.value(),
                     tensor({1, 4}, {0.3651481282381063942, 0.7302962564762127884,
                                     1.0954443847143191826, 1.4605925129524255768}),
                     1e-15);
  y.backward(tensor({1, 4}, {1.0, 0.0, 0.0, 0.0}));
  EXPECT_TENSOR_NEAR(x.grad(),
                     tensor({1, 4}, {0.3529765401922869088, -0.0243431760916389708,
                                     -0.0365147641374584561, -0.0486863521832779415}),
                     1e-15);
}

TEST(RmsNorm, WeightPerFeatureAndItsGradientOverAllRows) {
  const Tensor<double> x = random_tensor({2, 3, 4}, Rng(3));
  const Variable<double> weight(tensor({4}, {2.0, 0.0, -1.0, 0.5}), true);
  const auto y = rms_norm(Variable<double>(x), weight);
  const Tensor<double> xhat = normalised(Variable<double>(x)).value();
  const Tensor<double> dy = random_tensor({2, 3, 4}, Rng(4));
  y.backward(dy);
  Tensor<double> expected = xhat, dweight = zeros<double>({4});
  for (std::size_t i = 0; i < x.size(); ++i) {
    expected.data()[i] *= weight.value()(i % 4);
    dweight(i % 4) += dy.data()[i] * xhat.data()[i];
  }
  EXPECT_TENSOR_NEAR(y.value(), expected, 1e-15);
  EXPECT_TENSOR_NEAR(weight.grad(), dweight, 1e-14);
}

// What the paper is about: the size of a row does not matter, and unlike in layer_norm its mean
// does.
TEST(RmsNorm, IgnoresTheScaleOfARowButNotItsMean) {
  const Tensor<double> x = random_tensor({5, 7}, Rng(5), 0.5, 2);
  const auto y = [](const Tensor<double>& v) { return normalised(Variable<double>(v), 0).value(); };
  EXPECT_TENSOR_NEAR(y(times(x, 1e-3)), y(x), 1e-14);
  EXPECT_TENSOR_NEAR(y(times(x, -40)), times(y(x), -1), 1e-14);
  EXPECT_FALSE(tensors_near(y(x + 1.0), y(x), 1e-2));
}

TEST(RmsNorm, IsLayerNormWhereTheMeanIsZero) {
  Tensor<double> x = random_tensor({6, 10}, Rng(6));
  for (std::size_t i = 0; i < x.size(); i += 2) x.data()[i + 1] = -x.data()[i];
  const Variable<double> weight(random_tensor({10}, Rng(7))), none(zeros<double>({10}));
  EXPECT_TENSOR_NEAR(rms_norm(Variable<double>(x), weight, 1e-3).value(),
                     layer_norm(Variable<double>(x), weight, none, 1e-3).value(), 1e-14);
}

TEST(RmsNorm, S1_5_RowsDoNotSeeEachOther) {
  auto x = random_tensor<float>({2, 3, 33}, Rng(8));
  const auto before = normalised(Variable<float>(x)).value();
  std::fill_n(x.data() + 33, 33, 1e6f);  // token 1 of sample 0
  const auto after = normalised(Variable<float>(x)).value();
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (i / 33 == 1) {
      ASSERT_NEAR(after.data()[i], 1, 1e-6) << i;
    } else {
      ASSERT_EQ(before.data()[i], after.data()[i]) << i;
    }
  }
}

// G5: nothing to divide by. Exact zeros, also without eps.
TEST(RmsNorm, ARowOfZerosGivesZeros) {
  for (const double eps : {0.0, 1e-5}) {
    const Variable<float> x(tensor<float>({2, 3}, {0, 0, 0, 1, 2, 3}), true);
    const Variable<float> weight(full<float>({3}, 2), true);
    const auto y = rms_norm(x, weight, eps);
    y.backward(full<float>({2, 3}, 1));
    const double slope = eps == 0 ? 0 : 2 / std::sqrt(eps);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(y.value()(0, i), 0);
      EXPECT_NEAR(x.grad()(0, i), slope, 1e-6 * slope);
      EXPECT_NEAR(weight.grad()(i), y.value()(1, i) / 2, 1e-7);
    }
  }
}

TEST(RmsNorm, NamesTheWrongInput) {
  EXPECT_TRUE(throws_with<ShapeError>(
      [] {
        rms_norm(Variable<double>(full({2, 3}, 1.0)), Variable<double>(full({4}, 1.0)));
      },
      "rms_norm: weight: expected (3), got (4)"));
  EXPECT_TRUE(throws_with<ShapeError>(
      [] {
        normalised(Variable<double>(full({2, 3}, 1.0)), -1);
      },
      "rms_norm: expected eps >= 0, got -1"));
}

}  // namespace xgrad::test
