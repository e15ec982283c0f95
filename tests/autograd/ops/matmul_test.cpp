#include <gtest/gtest.h>

#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/parallel.hpp>

#include "support/golden.hpp"
#include "support/gradients.hpp"
#include "support/tensors.hpp"

namespace xgrad::test {

namespace {

Variable<double> leaf(const Tensor<double>& value) {
  return Variable<double>(value, true);
}

}  // namespace

TEST(Matmul, S3_3_ParallelForm) {
  const auto a = leaf(tensor({2, 2}, {1.0, 1.0, 1.0, 0.0}));
  const auto w = leaf(tensor({2, 2}, {1.0, 1.0, 0.0, 1.0}));
  EXPECT_TENSOR_NEAR(matmul(a, w).value(), worked_example("S3.3.product"), 0);
}

TEST(Matmul, TransposesAsAsked) {
  const auto a = leaf(tensor({2, 3}, {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}));
  const auto b = leaf(tensor({3, 2}, {1.0, 0.0, 0.0, 1.0, 2.0, -1.0}));
  const Tensor<double> product = tensor({2, 2}, {7.0, -1.0, 16.0, -1.0});
  const auto at = transpose(a, {1, 0}), bt = transpose(b, {1, 0});
  EXPECT_TENSOR_NEAR(matmul(a, b).value(), product, 0);
  EXPECT_TENSOR_NEAR(matmul(at, b, true).value(), product, 0);
  EXPECT_TENSOR_NEAR(matmul(a, bt, false, true).value(), product, 0);
  EXPECT_TENSOR_NEAR(matmul(at, bt, true, true).value(), product, 0);
}

// Every matrix of a broadcast batch is the product of its own factors.
TEST(Matmul, BatchesBroadcast) {
  const Rng rng(9);
  const auto a = leaf(random_tensor({2, 1, 3, 4}, rng / "a"));
  const auto b = leaf(random_tensor({5, 4, 2}, rng / "b"));
  const auto y = matmul(a, b);
  ASSERT_EQ(y.shape(), (Shape{2, 5, 3, 2}));
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t j = 0; j < 5; ++j) {
      const auto one = matmul(select(select(a, 0, i), 0, 0), select(b, 0, j));
      EXPECT_TENSOR_NEAR(select(select(y, 0, i), 0, j).value(), one.value(), 1e-15);
    }
  }
}

TEST(Matmul, ProductsOverNothingAreZero) {
  const auto y = matmul(leaf(zeros<double>({2, 0})), leaf(zeros<double>({0, 3})));
  EXPECT_TRUE(same_bits(y.value(), zeros<double>({2, 3})));
  y.backward(full({2, 3}, 1.0));
  EXPECT_EQ(matmul(leaf(zeros<double>({0, 2, 3})), leaf(zeros<double>({3, 4}))).shape(),
            (Shape{0, 2, 4}));
  EXPECT_EQ(matmul(leaf(zeros<double>({0, 2, 3})), leaf(zeros<double>({0, 3, 4}))).shape(),
            (Shape{0, 2, 4}));
}

TEST(Matmul, TheSameBitsForAnyNumberOfThreads) {
  const int before = threads();
  const Rng rng(4);
  const Variable<float> a(random_tensor<float>({24, 65, 48}, rng / "a"), true);
  const Variable<float> b(random_tensor<float>({24, 48, 65}, rng / "b"), true);
  const Variable<float> shared(random_tensor<float>({48, 40}, rng / "c"), true);
  std::vector<std::vector<Tensor<float>>> results;
  for (const int count : {1, 2, 5}) {
    set_threads(count);
    const auto y = matmul(a, b);
    const auto z = matmul(a, shared);
    y.backward(y.value());
    z.backward(z.value());
    results.push_back({y.value(), z.value(), a.grad(), b.grad(), shared.grad()});
    for (const auto& leaf : {a, b, shared}) leaf.zero_grad();
  }
  set_threads(before);
  for (std::size_t i = 0; i < results[0].size(); ++i) {
    EXPECT_TRUE(same_bits(results[1][i], results[0][i]));
    EXPECT_TRUE(same_bits(results[2][i], results[0][i]));
  }
}

TEST(Matmul, SaysWhichSizesDiffer) {
  const auto x = leaf(zeros<double>({32, 64}));
  EXPECT_TRUE(throws_with<ShapeError>([&] { matmul(x, x); },
                                      "matmul: inner sizes differ: (32, 64) x (32, 64)"));
  EXPECT_TRUE(throws_with<ShapeError>([&] { matmul(x, x, true, true); },
                                      "matmul: inner sizes differ: (32, 64)^T x (32, 64)^T"));
  EXPECT_TRUE(throws_with<ShapeError>([&] { matmul(x, leaf(zeros<double>({64}))); },
                                      "matmul: expected matrices, got (32, 64) x (64)"));
}

}  // namespace xgrad::test
