#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <xgrad/autograd/operators.hpp>

#include "support/gradients.hpp"

namespace xgrad::test {

namespace {

const Variable<double> kA(tensor({2}, {6, 8})), kB(tensor({2}, {2, -4}));

// The derivative of f at x, by the op.
template <class F>
double slope(F f, double x) {
  const Variable<double> leaf(full({}, x), true);
  f(leaf).backward();
  return leaf.grad()();
}

}  // namespace

TEST(Operators, OfVariables) {
  EXPECT_TENSOR_NEAR((kA + kB).value(), tensor({2}, {8, 4}), 0);
  EXPECT_TENSOR_NEAR((kA - kB).value(), tensor({2}, {4, 12}), 0);
  EXPECT_TENSOR_NEAR((kA * kB).value(), tensor({2}, {12, -32}), 0);
  EXPECT_TENSOR_NEAR((kA / kB).value(), tensor({2}, {3, -2}), 0);
  EXPECT_TENSOR_NEAR((-kA).value(), tensor({2}, {-6, -8}), 0);
}

TEST(Operators, OfAVariableAndANumber) {
  EXPECT_TENSOR_NEAR((kA + 1).value(), tensor({2}, {7, 9}), 0);
  EXPECT_TENSOR_NEAR((1 + kA).value(), tensor({2}, {7, 9}), 0);
  EXPECT_TENSOR_NEAR((kA - 1).value(), tensor({2}, {5, 7}), 0);
  EXPECT_TENSOR_NEAR((1 - kA).value(), tensor({2}, {-5, -7}), 0);
  EXPECT_TENSOR_NEAR((kA * 2).value(), tensor({2}, {12, 16}), 0);
  EXPECT_TENSOR_NEAR((2 * kA).value(), tensor({2}, {12, 16}), 0);
  EXPECT_TENSOR_NEAR((kA / 2).value(), tensor({2}, {3, 4}), 0);
  EXPECT_TENSOR_NEAR((24 / kA).value(), tensor({2}, {4, 3}), 0);
  EXPECT_TENSOR_NEAR(pow(kB, 3).value(), tensor({2}, {8, -64}), 0);
}

TEST(Operators, HaveGradients) {
  EXPECT_TRUE(
      gradients_agree([](const auto& x) { return -(x[0] + 2) * x[1] / (3 - x[0]) - 1 / x[1]; },
                      {tensor({2}, {0.5, -1}), tensor({2, 1}, {2, -1.5})}));
  EXPECT_TRUE(
      gradients_agree([](const auto& x) { return pow(x[0], 3) - pow(x[0], -2); }, {kB.value()}));
}

TEST(SingularPoints, AreAsOpsSays) {
  const double inf = std::numeric_limits<double>::infinity();
  const auto log_of = [](const auto& x) { return log(x); };
  const auto sqrt_of = [](const auto& x) { return sqrt(x); };
  EXPECT_EQ(log(Variable<double>(full({}, 0.0))).value()(), -inf);
  EXPECT_EQ(slope(log_of, 0), inf);
  EXPECT_TRUE(std::isnan(slope(log_of, -1)));
  EXPECT_EQ(slope(sqrt_of, 0), inf);
  EXPECT_TRUE(std::isnan(slope(sqrt_of, -1)));
  EXPECT_EQ(slope([](const auto& x) { return clamp(x, 0, 1); }, 0), 1);
  EXPECT_EQ(slope([](const auto& x) { return clamp(x, 0, 1); }, 1), 1);
  EXPECT_TRUE(std::isnan(clamp(Variable<double>(full({}, std::nan(""))), 0, 1).value()()));
  const auto power_of = [](double a) {
    return [a](const auto& b) { return pow(Variable<double>(full({}, a)), b); };
  };
  EXPECT_EQ(slope(power_of(0), 0), 0);
  EXPECT_EQ(slope(power_of(0), 2), 0);
  EXPECT_TRUE(std::isnan(slope(power_of(-2), 2)));
  EXPECT_EQ(slope([](const auto& x) { return 1 / x; }, 0), -inf);
}

}  // namespace xgrad::test
