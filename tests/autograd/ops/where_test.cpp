#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <xgrad/autograd/ops.hpp>

#include "support/tensors.hpp"

namespace xgrad::test {

namespace {

Variable<double> leaf(const Tensor<double>& value) {
  return Variable<double>(value, true);
}

}  // namespace

TEST(Where, TakesElementsOfEither) {
  const Mask condition = tensor<std::uint8_t>({2, 1}, {1, 0});
  const auto x = leaf(tensor({3}, {1.0, 2.0, 3.0})), y = leaf(tensor({}, {9.0}));
  const auto z = where(condition, x, y);
  EXPECT_TENSOR_NEAR(z.value(), tensor({2, 3}, {1., 2., 3., 9., 9., 9.}), 0);
  z.backward(tensor({2, 3}, {1., 2., 3., 4., 5., 6.}));
  EXPECT_TENSOR_NEAR(x.grad(), tensor({3}, {1.0, 2.0, 3.0}), 0);
  EXPECT_TENSOR_NEAR(y.grad(), tensor({}, {15.0}), 0);
}

// The operand that is not taken may hold any value, and its gradient is exactly 0.
TEST(Where, WhatIsNotTakenLeavesNothing) {
  const double inf = std::numeric_limits<double>::infinity();
  const auto x = leaf(tensor({2}, {std::nan(""), 1.0})), y = leaf(tensor({2}, {2.0, inf}));
  const auto z = where(tensor<std::uint8_t>({2}, {0, 1}), x, y);
  EXPECT_TENSOR_NEAR(z.value(), tensor({2}, {2.0, 1.0}), 0);
  z.backward(tensor({2}, {inf, -inf}));
  EXPECT_TENSOR_NEAR(x.grad(), tensor({2}, {0.0, -inf}), 0);
  EXPECT_TENSOR_NEAR(y.grad(), tensor({2}, {inf, 0.0}), 0);
}

// The condition may be a temporary or a variable, const or not, as the two values may.
TEST(Where, IsFoundWhateverTheArgumentsAre) {
  Mask condition = tensor<std::uint8_t>({1}, {1});
  const Mask fixed = condition;
  Variable<float> x(tensor<float>({1}, {1})), y(tensor<float>({1}, {2}));
  EXPECT_EQ(where(condition, x, y).value()(0), 1);
  EXPECT_EQ(where(fixed, x, Variable<float>(y)).value()(0), 1);
  EXPECT_EQ(xgrad::where(Mask(zeros<std::uint8_t>({1})), x, y).value()(0), 2);
}

}  // namespace xgrad::test
