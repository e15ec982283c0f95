#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/parallel.hpp>

#include "support/gradients.hpp"
#include "support/tensors.hpp"

namespace xgrad::test {

namespace {

const float kNan = std::numeric_limits<float>::quiet_NaN();

Variable<double> leaf(const Tensor<double>& value) {
  return Variable<double>(value, true);
}

}  // namespace

TEST(Reduce, SumsAndMeans) {
  const auto x = leaf(tensor({2, 3}, {1.0, 2.0, 3.0, 4.0, 5.0, 9.0}));
  EXPECT_TENSOR_NEAR(sum(x).value(), tensor({}, {24.0}), 0);
  EXPECT_TENSOR_NEAR(mean(x).value(), tensor({}, {4.0}), 1e-15);
  EXPECT_TENSOR_NEAR(sum(x, 0).value(), tensor({3}, {5.0, 7.0, 12.0}), 0);
  EXPECT_TENSOR_NEAR(sum(x, 1).value(), tensor({2}, {6.0, 18.0}), 0);
  EXPECT_TENSOR_NEAR(mean(x, 0).value(), tensor({3}, {2.5, 3.5, 6.0}), 0);
  EXPECT_TENSOR_NEAR(mean(x, 1).value(), tensor({2}, {2.0, 6.0}), 1e-15);
}

TEST(Reduce, GradientsSpreadEvenly) {
  const auto x = leaf(zeros<double>({2, 3}));
  mean(x, 1).backward(tensor({2}, {3.0, 6.0}));
  EXPECT_TENSOR_NEAR(x.grad(), tensor({2, 3}, {1.0, 1.0, 1.0, 2.0, 2.0, 2.0}), 1e-15);
}

TEST(Reduce, OfNothing) {
  const auto x = leaf(zeros<double>({0, 3}));
  EXPECT_TENSOR_NEAR(sum(x).value(), tensor({}, {0.0}), 0);
  EXPECT_TENSOR_NEAR(sum(x, 0).value(), tensor({3}, {0.0, 0.0, 0.0}), 0);
  EXPECT_TRUE(throws_with<ShapeError>([&] { mean(x); },
                                      "mean: expected at least one element, got shape (0, 3)"));
  EXPECT_TRUE(
      throws_with<ShapeError>([&] { sum(x, 2); }, "sum: there is no axis 2 in shape (0, 3)"));
}

TEST(Reduce, BeforeAnAxisWithoutElements) {
  const auto x = leaf(zeros<double>({100, 3, 0}));
  const auto nothing = zeros<double>({100, 0});
  EXPECT_TENSOR_NEAR(sum(x, 1).value(), nothing, 0);
  EXPECT_TENSOR_NEAR(mean(x, 1).value(), nothing, 0);
  mean(x, 1).backward(nothing);
  EXPECT_TENSOR_NEAR(x.grad(), x.value(), 0);
}

// A running sum of ten million floats in one accumulator would be off by percents.
TEST(Reduce, LongSumsKeepTheirDigits) {
  constexpr std::size_t count = 10'000'019;
  const Variable<float> x(full({count}, 0.1f));
  EXPECT_NEAR(sum(x).value()() / (count * double(0.1f)), 1, 1e-5);
  EXPECT_NEAR(mean(x).value()() / double(0.1f), 1, 1e-5);
}

TEST(Reduce, TheSameBitsForAnyNumberOfThreads) {
  const int before = threads();
  const Variable<float> x(random_tensor<float>({3, 70, 1100}, Rng(3)));
  std::vector<std::vector<Tensor<float>>> results;
  for (const int count : {1, 2, 5}) {
    set_threads(count);
    results.push_back({sum(x).value(), sum(x, 0).value(), sum(x, 1).value(), mean(x, 2).value()});
  }
  set_threads(before);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(same_bits(results[1][i], results[0][i]));
    EXPECT_TRUE(same_bits(results[2][i], results[0][i]));
  }
}

TEST(MaskedMean, AveragesWhatTheMaskKeeps) {
  const Variable<float> x(tensor<float>({2, 3, 2}, {1, 2, kNan, kNan, 3, 6, 5, 7, 9, 9, kNan, 1}),
                          true);
  const auto mask = std::make_shared<const Mask>(Mask{{1, 0, 1}, {1, 0, 0}});
  const auto y = masked_mean(x, mask);
  EXPECT_TENSOR_NEAR(y.value(), tensor<float>({2, 2}, {2, 4, 5, 7}), 0);
  y.backward(tensor<float>({2, 2}, {2, 4, 8, 16}));
  EXPECT_TENSOR_NEAR(x.grad(), tensor<float>({2, 3, 2}, {1, 2, 0, 0, 1, 2, 8, 16, 0, 0, 0, 0}), 0);
}

// G5: where nothing is kept, 0 and no gradient.
TEST(MaskedMean, G5_NothingKept) {
  const Variable<float> x(full({1, 2, 2}, kNan), true);
  const auto y = masked_mean(x, std::make_shared<const Mask>(Mask{{0, 0}}));
  EXPECT_TRUE(same_bits(y.value(), zeros<float>({1, 2})));
  y.backward(full({1, 2}, 1.0f));
  EXPECT_TRUE(same_bits(x.grad(), zeros<float>({1, 2, 2})));
}

TEST(MaskedMean, SaysWhatDoesNotFit) {
  EXPECT_TRUE(throws_with<ShapeError>(
      [] {
        masked_mean(leaf(zeros<double>({2, 3, 4})),
                    std::make_shared<const Mask>(Mask{{0, 0}, {0, 0}, {0, 0}}));
      },
      "masked_mean: expected x (B, N, D) and mask (B, N), got (2, 3, 4) and (3, 2)"));
}

}  // namespace xgrad::test
