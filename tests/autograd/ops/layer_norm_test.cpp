#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include <xgrad/autograd/ops.hpp>

#include "support/golden.hpp"
#include "support/gradients.hpp"
#include "support/tensors.hpp"

namespace xgrad::test {

namespace {

template <class T>
Variable<T> normalised(const Variable<T>& x, double eps = 1e-5) {
  const Shape features{x.shape().back()};
  return layer_norm(x, Variable<T>(full(features, T(1))), Variable<T>(zeros<T>(features)), eps);
}

struct Moments {
  double mean = 0, variance = 0;
};

template <class T>
Moments moments(const T* x, std::size_t n) {
  Moments m;
  for (std::size_t i = 0; i < n; ++i) m.mean += double(x[i]) / double(n);
  for (std::size_t i = 0; i < n; ++i)
    m.variance += (double(x[i]) - m.mean) * (double(x[i]) - m.mean) / double(n);
  return m;
}

}  // namespace

TEST(LayerNorm, S1_4_Golden) {
  const Variable<double> x(tensor({1, 4}, {1.0, 2.0, 3.0, 4.0}), true);
  const auto y = normalised(x);
  EXPECT_TENSOR_NEAR(y.value(), worked_example("S1.4.y"), 1e-15);
  y.backward(tensor({1, 4}, {1.0, 0.0, 0.0, 0.0}));
  EXPECT_TENSOR_NEAR(x.grad(), worked_example("S1.4.dx"), 1e-15);
}

TEST(LayerNorm, S1_4_MeanAndVariance) {
  for (const double eps : {0.0, 1e-5, 0.5}) {
    const auto x = random_tensor({6, 40}, Rng(3), -2, 5);
    const auto y = normalised(Variable<double>(x), eps).value();
    for (std::size_t row = 0; row < 6; ++row) {
      const double variance = moments(x.data() + row * 40, 40).variance;
      const Moments m = moments(y.data() + row * 40, 40);
      EXPECT_NEAR(m.mean, 0, 1e-15);
      EXPECT_NEAR(m.variance, variance / (variance + eps), 1e-14);
    }
  }
}

TEST(LayerNorm, S1_4_WeightAndBiasPerFeature) {
  const Variable<double> x(tensor({1, 4}, {1.0, 2.0, 3.0, 4.0}));
  const Variable<double> weight(tensor({4}, {2.0, 0.0, -1.0, 1.0}), true),
      bias(tensor({4}, {1.0, 7.0, 0.0, -1.0}), true);
  const auto y = layer_norm(x, weight, bias);
  const Tensor<double> xhat = normalised(x).value();
  EXPECT_TENSOR_NEAR(y.value(),
                     tensor({1, 4}, {2 * xhat(0, 0) + 1, 7.0, -xhat(0, 2), xhat(0, 3) - 1}), 1e-15);
  y.backward(tensor({1, 4}, {1.0, 2.0, 3.0, 4.0}));
  EXPECT_TENSOR_NEAR(bias.grad(), tensor({4}, {1.0, 2.0, 3.0, 4.0}), 0);
  EXPECT_TENSOR_NEAR(weight.grad(),
                     tensor({4}, {xhat(0, 0), 2 * xhat(0, 1), 3 * xhat(0, 2), 4 * xhat(0, 3)}),
                     1e-15);
}

TEST(LayerNorm, S1_5_RowsDoNotSeeEachOther) {
  auto x = random_tensor<float>({2, 3, 33}, Rng(5));
  const auto before = normalised(Variable<float>(x)).value();
  std::fill_n(x.data() + 33, 33, 1e6f);  // token 1 of sample 0
  const auto after = normalised(Variable<float>(x)).value();
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (i / 33 != 1) {
      ASSERT_EQ(before.data()[i], after.data()[i]) << i;
    }
  }
}

// The largest value is not 1; it is the variance that is.
TEST(LayerNorm, S1_6_LargestValueIsNotOne) {
  const auto y =
      normalised(Variable<double>(tensor({1, 8}, {0., 0., 0., 10., 0., 0., 0., 0.}))).value();
  EXPECT_NEAR(*std::max_element(y.data(), y.data() + 8), 2.6457501, 1e-6);
  EXPECT_NEAR(normalised(Variable<double>(tensor({1, 8}, {0., 0., 0., 10., 0., 0., 0., 0.})), 0)
                  .value()(0, 3),
              worked_example("S1.6.largest")(), 1e-7);
}

// G5: variance 0. Exact zeros, also without eps and for values whose mean is not exact in floating
// point.
TEST(LayerNorm, ConstantRowGivesTheBias) {
  for (const double eps : {0.0, 1e-5}) {
    for (const float value : {0.0f, 0.1f, -3e8f}) {
      const Variable<float> x(full<float>({2, 3}, value), true);
      const Variable<float> weight(full<float>({3}, 2), true),
          bias(tensor<float>({3}, {1, 2, 3}), true);
      const auto y = layer_norm(x, weight, bias, eps);
      EXPECT_TRUE(same_bits(y.value(), tensor<float>({2, 3}, {1, 2, 3, 1, 2, 3})));
      y.backward(full<float>({2, 3}, 1));
      EXPECT_TENSOR_NEAR(x.grad(), zeros<float>({2, 3}), 0);
      EXPECT_TENSOR_NEAR(weight.grad(), zeros<float>({3}), 0);
      EXPECT_TENSOR_NEAR(bias.grad(), full<float>({3}, 2), 0);
    }
  }
}

TEST(LayerNorm, OneFeatureGivesTheBias) {
  const Variable<double> x(tensor({2, 1}, {3.0, -4.0}), true);
  const auto y = layer_norm(x, Variable<double>(full({1}, 2.0)), Variable<double>(full({1}, 0.5)));
  EXPECT_TENSOR_NEAR(y.value(), full({2, 1}, 0.5), 0);
  y.backward(full({2, 1}, 0.7));
  EXPECT_TENSOR_NEAR(x.grad(), zeros<double>({2, 1}), 0);
}

// Float keeps its digits under an offset a thousand times the spread.
TEST(LayerNorm, OffsetCostsNoPrecision) {
  auto x = random_tensor<float>({4, 50}, Rng(8));
  for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] += 1000;
  EXPECT_TENSOR_NEAR(normalised(Variable<float>(x)).value(),
                     normalised(Variable<double>(cast<double>(x))).value(), 2e-6);
}

TEST(LayerNorm, NamesTheWrongInput) {
  const auto v = [](const Shape& shape) { return Variable<double>(zeros<double>(shape)); };
  EXPECT_TRUE(throws_with<ShapeError>(
      [&] {
        layer_norm(v({2, 3}), v({4}), v({3}));
      },
      "layer_norm: weight: expected (3), got (4)"));
  EXPECT_TRUE(throws_with<ShapeError>(
      [&] {
        layer_norm(v({2, 3}), v({3}), v({3, 1}));
      },
      "layer_norm: bias: expected (3), got (3, 1)"));
  EXPECT_TRUE(throws_with<ShapeError>(
      [&] {
        layer_norm(v({2, 3}), v({3}), v({3}), -1);
      },
      "layer_norm: expected eps >= 0, got -1"));
}

}  // namespace xgrad::test
