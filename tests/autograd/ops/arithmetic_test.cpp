#include <gtest/gtest.h>

#include <xgrad/autograd/ops.hpp>

#include "support/gradients.hpp"
#include "support/tensors.hpp"

namespace xgrad::test {

namespace {

Variable<double> leaf(const Tensor<double>& value) {
  return Variable<double>(value, true);
}

}  // namespace

TEST(Arithmetic, BroadcastsAsNumpyDoes) {
  const auto column = leaf(tensor({2, 1}, {1.0, 2.0}));
  const auto row = leaf(tensor({3}, {10.0, 20.0, 30.0}));
  EXPECT_TENSOR_NEAR(add(column, row).value(), tensor({2, 3}, {11.0, 21.0, 31.0, 12.0, 22.0, 32.0}),
                     0);
  EXPECT_TENSOR_NEAR(sub(column, row).value(),
                     tensor({2, 3}, {-9.0, -19.0, -29.0, -8.0, -18.0, -28.0}), 0);
  EXPECT_TENSOR_NEAR(mul(row, column).value(), tensor({2, 3}, {10.0, 20.0, 30.0, 20.0, 40.0, 60.0}),
                     0);
  EXPECT_TENSOR_NEAR(add(leaf(tensor({}, {1.0})), row).value(), tensor({3}, {11.0, 21.0, 31.0}), 0);
}

TEST(Arithmetic, GradientsHaveTheShapesOfTheOperands) {
  const auto column = leaf(tensor({2, 1}, {1.0, 2.0}));
  const auto row = leaf(tensor({3}, {10.0, 20.0, 30.0}));
  mul(column, row).backward(full({2, 3}, 1.0));
  EXPECT_TENSOR_NEAR(column.grad(), tensor({2, 1}, {60.0, 60.0}), 0);
  EXPECT_TENSOR_NEAR(row.grad(), tensor({3}, {3.0, 3.0, 3.0}), 0);
}

TEST(Arithmetic, AnOperandUsedTwiceGetsBothGradients) {
  const auto x = leaf(tensor({2}, {3.0, -4.0}));
  mul(x, x).backward(tensor({2}, {1.0, 1.0}));
  EXPECT_TENSOR_NEAR(x.grad(), tensor({2}, {6.0, -8.0}), 0);
  x.zero_grad();
  sub(x, x).backward(tensor({2}, {1.0, 1.0}));
  EXPECT_TENSOR_NEAR(x.grad(), tensor({2}, {0.0, 0.0}), 0);
}

TEST(Arithmetic, AConstantOperandGetsNone) {
  const Variable<double> constant(tensor({2}, {3.0, -4.0}));
  const auto x = leaf(tensor({2}, {1.0, 2.0}));
  for (const auto& y : {add(constant, x), sub(constant, x), mul(constant, x)}) {
    y.backward(tensor({2}, {1.0, 1.0}));
  }
  EXPECT_TENSOR_NEAR(x.grad(), tensor({2}, {3.0, -4.0}), 0);
  EXPECT_FALSE(constant.has_grad());
}

// Enough elements for several blocks: every path cuts them without a seam.
TEST(Arithmetic, LargeTensorsAreTheSameElementByElement) {
  const Rng rng(1);
  const Tensor<float> a = random_tensor<float>({70, 3, 501}, rng / "a");
  const Shape shapes[] = {{70, 3, 501}, {501}, {3, 501}, {3, 1}, {70, 1, 1}, {}};
  for (const Shape& shape : shapes) {
    const Tensor<float> b = random_tensor<float>(shape, rng / "b");
    const Tensor<float> expected = a * b;
    const Variable<float> va(a, true), vb(b, true);
    EXPECT_TRUE(same_bits(mul(va, vb).value(), expected)) << to_string(shape);
    EXPECT_TRUE(same_bits(mul(vb, va).value(), expected)) << to_string(shape);
  }
}

TEST(Arithmetic, SaysWhichShapesDoNotFit) {
  const auto x = leaf(zeros<double>({2, 3}));
  const auto y = leaf(zeros<double>({2}));
  EXPECT_TRUE(
      throws_with<ShapeError>([&] { add(x, y); }, "add: shapes do not broadcast: (2, 3) and (2)"));
  EXPECT_TRUE(throws_with<ShapeError>([&] { sub(x, y); }, "sub: shapes do not broadcast"));
  EXPECT_TRUE(throws_with<ShapeError>([&] { mul(x, y); }, "mul: shapes do not broadcast"));
}

}  // namespace xgrad::test
