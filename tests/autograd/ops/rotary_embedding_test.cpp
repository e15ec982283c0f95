#include <gtest/gtest.h>

#include <cmath>

#include <xgrad/autograd/ops.hpp>

#include "support/golden.hpp"
#include "support/tensors.hpp"

namespace xgrad::test {

namespace {

Variable<double> rotated(const Tensor<double>& x, std::size_t head_dim, std::size_t heads) {
  return rotary_embedding(Variable<double>(x), head_dim, heads);
}

}  // namespace

// (1, 0) at place n becomes (cos n, sin n) in the first pair; the second of two turns 100 times
// slower, since 10000^(-2/4) = 1/100.
TEST(RotaryEmbedding, ByHand) {
  const auto y = rotated(tensor({1, 3, 4}, {1, 0, 1, 0, 1, 0, 0, 1, 1, 0, 1, 0}), 4, 1);
  EXPECT_TENSOR_NEAR(
      y.value(),
      tensor({1, 3, 4},
             {1, 0, 1, 0,                                                                         //
              0.5403023058681398, 0.8414709848078965, -0.009999833334166664, 0.9999500004166653,  //
              -0.4161468365471424, 0.9092974268256817, 0.9998000066665778, 0.01999866669333308}),
      1e-15);
}

TEST(RotaryEmbedding, LeavesWhatIsBehindTheHeads) {
  const Tensor<double> x = random_tensor({2, 3, 7}, Rng(1));
  const Tensor<double> y = rotated(x, 2, 2).value();
  for (std::size_t b = 0; b < 2; ++b) {
    for (std::size_t n = 0; n < 3; ++n) {
      for (std::size_t i = 4; i < 7; ++i) EXPECT_EQ(y(b, n, i), x(b, n, i));
    }
  }
}

// What the rotation is for: the product of a query at n and a key at m is a function of m - n.
TEST(RotaryEmbedding, ProductsDependOnDistanceAlone) {
  constexpr std::size_t kTokens = 20, kWidth = 8;
  const Tensor<double> q = random_tensor({kWidth}, Rng(2)), k = random_tensor({kWidth}, Rng(3));
  const auto everywhere = [](const Tensor<double>& row) {
    Tensor<double> x = empty<double>({1, kTokens, kWidth});
    for (std::size_t n = 0; n < kTokens; ++n) {
      std::copy_n(row.data(), kWidth, x.data() + n * kWidth);
    }
    return rotated(x, kWidth, 1);
  };
  const Tensor<double> s = matmul(everywhere(q), everywhere(k), false, true).value();
  for (std::size_t n = 1; n < kTokens; ++n) {
    for (std::size_t m = 1; m < kTokens; ++m) EXPECT_NEAR(s(0, n, m), s(0, n - 1, m - 1), 1e-13);
  }
  EXPECT_GT(std::fabs(s(0, 0, 1) - s(0, 0, 2)), 1e-3);
}

// The rotation is orthogonal: handed its own result as dy, backward gives x.
TEST(RotaryEmbedding, BackwardIsTheInverse) {
  const Variable<double> x(random_tensor({2, 50, 12}, Rng(4)), true);
  const auto y = rotary_embedding(x, 4, 2);
  y.backward(y.value());
  EXPECT_TENSOR_NEAR(x.grad(), x.value(), 1e-15);
}

// PyTorch's complex product: the form in which the rotation is often written.
TEST(RotaryEmbedding, Torch) {
  const Golden golden("positions.txt");
  const Variable<double> x(golden("rotary.x"), true);
  const auto y = rotary_embedding(x, 4, 2);
  EXPECT_TENSOR_NEAR(y.value(), golden("rotary.y"), 1e-15);
  y.backward(golden("rotary.dy"));
  EXPECT_TENSOR_NEAR(x.grad(), golden("rotary.dx"), 1e-15);
}

}  // namespace xgrad::test
