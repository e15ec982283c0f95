// A Variable as text, and as a number.
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include <xgrad/autograd/operators.hpp>

#include "support/gradients.hpp"

namespace xgrad::test {

static std::string printed(const Variable<double>& x) {
  std::ostringstream out;
  out << x;
  return out.str();
}

TEST(Variable, IsPrintedWithItsShapeAndWhatMadeIt) {
  const Variable<double> constant(tensor({2, 2}, {1, 2, 3, 4})), leaf(tensor({2}, {1, 2}), true);
  EXPECT_EQ(printed(constant), "{{ 1.,  2.},\n { 3.,  4.}}\nVariable of shape (2, 2)");
  EXPECT_EQ(printed(leaf), "{ 1.,  2.}\nVariable of shape (2), requires_grad (leaf)");
  EXPECT_EQ(printed(matmul(constant, leaf[0] * constant)),
            "{{  7.,  10.},\n { 15.,  22.}}\nVariable of shape (2, 2), requires_grad (matmul)");
  EXPECT_EQ(printed(scale(constant, 2).detach()),
            "{{ 2.,  4.},\n { 6.,  8.}}\nVariable of shape (2, 2)");
  EXPECT_EQ(printed({}), "Variable without a value");
}

TEST(Variable, OfOneElementIsANumber) {
  EXPECT_EQ(Variable<double>(tensor({1, 1}, {3})).item(), 3);
  EXPECT_TRUE(throws_with<ShapeError>([] { Variable<double>(zeros<double>({2})).item(); },
                                      "item: expected a single element, got shape (2)"));
  EXPECT_TRUE(throws_with<ShapeError>([] { Variable<double>(zeros<double>({0})).item(); },
                                      "item: expected a single element, got shape (0)"));
}

}  // namespace xgrad::test
