#include <gtest/gtest.h>

#include <limits>

#include <xgrad/autograd/ops.hpp>

#include "support/gradients.hpp"
#include "support/tensors.hpp"

namespace xgrad::test {

TEST(Argmax, IsTheFirstOfEqualsAlongAnyAxis) {
  const Tensor<float> x = tensor<float>({2, 3}, {1, 3, 3, 5, 0, -1});
  const Ids rows = argmax(x, 1), columns = argmax(x, 0);
  EXPECT_TRUE(tensors_near(rows, tensor<std::int32_t>({2}, {1, 0}), 0));
  EXPECT_TRUE(tensors_near(columns, tensor<std::int32_t>({3}, {1, 0, 0}), 0));
}

// As NumPy's: a NaN is the largest, the first of them.
TEST(Argmax, FindsNaN) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(argmax(tensor({4}, {1., nan, 7., nan}), 0)(), 1);
}

TEST(Argmax, NamesAnAxisWithoutElements) {
  EXPECT_TRUE(throws_with<ShapeError>(
      [] {
        argmax(zeros<double>({2, 0}), 1);
      },
      "argmax: axis 1 of shape (2, 0) has no elements"));
  EXPECT_TRUE(throws_with<ShapeError>([] { argmax(zeros<double>({2}), 1); },
                                      "argmax: there is no axis 1 in shape (2)"));
  EXPECT_EQ(argmax(zeros<double>({0, 3}), 1).shape(), (Shape{0}));
}

}  // namespace xgrad::test
