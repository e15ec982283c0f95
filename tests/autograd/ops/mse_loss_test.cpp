#include <gtest/gtest.h>

#include <xgrad/autograd/ops.hpp>

#include "support/gradients.hpp"
#include "support/tensors.hpp"

namespace xgrad::test {

TEST(MseLoss, S4_8_MeanOfSquares) {
  const Variable<double> x(tensor({2, 2}, {1.0, 2.0, 3.0, 4.0}), true),
      y(tensor({2, 2}, {1.0, 0.0, 4.0, 8.0}), true);
  const auto loss = mse_loss(x, y);
  EXPECT_EQ(loss.shape(), Shape{});
  EXPECT_EQ(loss.value()(), (0 + 4 + 1 + 16) / 4.0);
  loss.backward();
  EXPECT_TENSOR_NEAR(x.grad(), tensor({2, 2}, {0.0, 1.0, -0.5, -2.0}), 0);
  EXPECT_TENSOR_NEAR(y.grad(), tensor({2, 2}, {0.0, -1.0, 0.5, 2.0}), 0);
}

TEST(MseLoss, OfNothingIsZero) {
  const Variable<double> x(zeros<double>({0, 2}), true);
  const auto loss = mse_loss(x, x);
  EXPECT_EQ(loss.value()(), 0);
  loss.backward();
  EXPECT_EQ(x.grad().size(), 0u);
}

TEST(MseLoss, NamesTheShapes) {
  const auto v = [](const Shape& shape) { return Variable<double>(zeros<double>(shape)); };
  EXPECT_TRUE(throws_with<ShapeError>(
      [&] {
        mse_loss(v({2, 3}), v({2}));
      },
      "mse_loss: x has shape (2, 3), y (2)"));
}

}  // namespace xgrad::test
