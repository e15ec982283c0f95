#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <xgrad/autograd/ops.hpp>

#include "support/gradients.hpp"
#include "support/tensors.hpp"

namespace xgrad::test {

namespace {

template <class T>
Variable<T> normalised(const Variable<T>& x, const std::shared_ptr<const Mask>& mask = nullptr,
                       double eps = 1e-5) {
  const std::size_t width = x.shape().back();
  return batch_norm(x, Variable<T>(full({width}, T(1))), Variable<T>(zeros<T>({width})), mask, eps);
}

std::shared_ptr<const Mask> mask_of(Shape shape, std::initializer_list<std::uint8_t> bits) {
  auto mask = std::make_shared<Mask>(Mask::from_shape(shape));
  std::copy(bits.begin(), bits.end(), mask->data());
  return mask;
}

}  // namespace

// Of 1, 2, 3, 6 the mean is 3 and the variance (4 + 1 + 0 + 9) / 4 = 7/2.
TEST(BatchNorm, ByHand) {
  const Variable<double> x(tensor({4, 1}, {1.0, 2.0, 3.0, 6.0}));
  const Variable<double> weight(full({1}, 2.0)), bias(full({1}, 5.0));
  const double r = 1 / std::sqrt(3.5);
  EXPECT_TENSOR_NEAR(batch_norm(x, weight, bias, nullptr, 0).value(),
                     tensor({4, 1}, {5 - 4 * r, 5 - 2 * r, 5, 5 + 6 * r}), 1e-15);
}

TEST(BatchNorm, IsLayerNormOfTheTransposed) {
  const Tensor<double> x = random_tensor({5, 7}, Rng(1));
  const auto one = [](std::size_t n) { return Variable<double>(full({n}, 1.0)); };
  const auto none = [](std::size_t n) { return Variable<double>(zeros<double>({n})); };
  EXPECT_TENSOR_NEAR(
      normalised(Variable<double>(x)).value(),
      transpose(layer_norm(transpose(Variable<double>(x), {1, 0}), one(5), none(5)), {1, 0})
          .value(),
      1e-14);
}

// The contrast to LayerNorm.S1_5_RowsDoNotSeeEachOther.
TEST(BatchNorm, S1_5_RowsSeeEachOther) {
  Tensor<double> x = random_tensor({2, 3, 4}, Rng(2));
  const Tensor<double> before = normalised(Variable<double>(x)).value();
  x.data()[23] += 10;  // the last feature of the last token of sample 1
  const Tensor<double> after = normalised(Variable<double>(x)).value();
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (i % 4 == 3) {
      EXPECT_GT(std::abs(before.data()[i] - after.data()[i]), 1e-3) << i;
    } else {
      EXPECT_EQ(before.data()[i], after.data()[i]) << i;
    }
  }
}

TEST(BatchNorm, PaddingIsNotReadAndGivesZeros) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Variable<double> padded(tensor({2, 2, 1}, {1.0, 2.0, 4.0, nan}), true);
  const Variable<double> alone(tensor({3, 1}, {1.0, 2.0, 4.0}), true);
  const auto y = normalised(padded, mask_of({2, 2}, {1, 1, 1, 0})), z = normalised(alone);
  y.backward(tensor({2, 2, 1}, {1.0, 0.0, 0.0, nan}));
  z.backward(tensor({3, 1}, {1.0, 0.0, 0.0}));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(y.value().data()[i], z.value().data()[i]);
    EXPECT_EQ(padded.grad().data()[i], alone.grad().data()[i]);
  }
  EXPECT_EQ(y.value().data()[3], 0);
  EXPECT_EQ(padded.grad().data()[3], 0);
}

TEST(BatchNorm, WhatDoesNotVaryGivesTheBias) {
  const Variable<float> x(full<float>({3, 2}, 4), true);
  for (const double eps : {0.0, 1e-5}) {
    const auto y = normalised(x, nullptr, eps);
    y.backward(full<float>({3, 2}, 1));
    EXPECT_TENSOR_NEAR(y.value(), zeros<float>({3, 2}), 0);
    EXPECT_TENSOR_NEAR(x.grad(), zeros<float>({3, 2}), 0);
  }
  const auto nothing = normalised(x, mask_of({3}, {0, 0, 0}));
  nothing.backward(full<float>({3, 2}, 1));
  EXPECT_TENSOR_NEAR(nothing.value(), zeros<float>({3, 2}), 0);
}

TEST(BatchNorm, NamesTheWrongInput) {
  const auto ones = [](Shape shape) { return Variable<double>(full(shape, 1.0)); };
  EXPECT_TRUE(throws_with<ShapeError>(
      [&] {
        batch_norm(ones({2, 3}), ones({3}), ones({2}));
      },
      "batch_norm: bias: expected (3), got (2)"));
  EXPECT_TRUE(throws_with<ShapeError>(
      [&] {
        normalised(ones({2, 3}), mask_of({3}, {1, 1, 1}));
      },
      "batch_norm: mask: expected (2), got (3)"));
  EXPECT_TRUE(throws_with<ShapeError>(
      [&] {
        normalised(ones({2, 3}), nullptr, -1);
      },
      "batch_norm: expected eps >= 0, got -1"));
}

}  // namespace xgrad::test
