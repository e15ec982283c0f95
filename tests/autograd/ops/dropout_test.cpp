#include <gtest/gtest.h>

#include <cmath>

#include <xgrad/autograd/ops.hpp>

#include "support/gradients.hpp"
#include "support/tensors.hpp"

namespace xgrad::test {

namespace {

const DropoutOptions kHalf{.p = 0.5, .rng = Rng(7), .first_sample = 0};

}  // namespace

// G5: p = 0 is the identity, and not even a node.
TEST(Dropout, S1_9_RateZeroIsTheVariableItself) {
  const Variable<float> x(random_tensor<float>({2, 3}, Rng(1)), true);
  const auto y = dropout(x, {});
  EXPECT_EQ(y.shared_value(), x.shared_value());
  EXPECT_EQ(y.node(), x.node());
  const Variable<float> residual(random_tensor<float>({2, 3}, Rng(2)));
  EXPECT_TRUE(same_bits(dropout_add(x, residual, {}).value(), add(residual, x).value()));
}

TEST(Dropout, S1_9_KeepsAndScales) {
  const std::size_t n = 200000;
  for (const double p : {0.1, 0.5, 0.9}) {
    const Variable<double> x(full({10, 20, n / 200}, 1.0));
    const auto y = dropout(x, {.p = p, .rng = Rng(3)}).value();
    const double rate = std::lround(p * 65536) / 65536.0;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      if (y.data()[i] == 0) continue;
      ++kept;
      ASSERT_EQ(y.data()[i], 1 / (1 - rate));
    }
    const double sigma = std::sqrt(rate * (1 - rate) * double(n));
    EXPECT_NEAR(double(kept), (1 - rate) * double(n), 3 * sigma) << p;
  }
}

// The factor is a function of (rng, sample, token, feature), whatever the batch around it: S1.9,
// D3.
TEST(Dropout, MaskBelongsToSampleTokenFeature) {
  const auto factors = [](const Shape& shape, std::uint32_t first_sample) {
    DropoutOptions options = kHalf;
    options.first_sample = first_sample;
    return dropout(Variable<double>(full(shape, 1.0)), options).value();
  };
  const auto whole = factors({4, 3, 20}, 0);
  const auto half = factors({2, 3, 20}, 2);
  for (std::size_t i = 0; i < half.size(); ++i) ASSERT_EQ(half.data()[i], whole.data()[2 * 60 + i]);
  const auto flat = factors({4, 20}, 0);  // one token a sample: token 0
  for (std::size_t i = 0; i < 20; ++i) ASSERT_EQ(flat(1, i), whole(1, 0, i));
  const auto split = factors({4, 3, 1, 20}, 0);
  for (std::size_t i = 0; i < split.size(); ++i) ASSERT_EQ(split.data()[i], whole.data()[i]);
  std::vector<double> row(20);
  dropout_factors(*kHalf.rng, kHalf.p, 3, 0, 2, 20, row.data());
  for (std::size_t i = 0; i < 20; ++i) ASSERT_EQ(row[i], whole(3, 2, i));
}

TEST(Dropout, BackwardUsesTheSameMask) {
  const Variable<float> x(full<float>({3, 4, 17}, 1), true),
      residual(full<float>({3, 4, 17}, 5), true);
  const auto y = dropout(x, kHalf);
  y.backward(full<float>({3, 4, 17}, 1));
  EXPECT_TRUE(same_bits(x.grad(), y.value()));
  x.zero_grad();
  const auto z = dropout_add(x, residual, kHalf);
  z.backward(full<float>({3, 4, 17}, 1));
  EXPECT_TRUE(same_bits(x.grad(), y.value()));
  EXPECT_TRUE(same_bits(residual.grad(), full<float>({3, 4, 17}, 1)));
  EXPECT_TRUE(same_bits(z.value(), add(residual, y).value()));
}

TEST(Dropout, NamesTheRateAndTheShapes) {
  const auto v = [](const Shape& shape) { return Variable<double>(zeros<double>(shape)); };
  EXPECT_TRUE(throws_with<ShapeError>([&] { dropout(v({2}), {.p = 1}); },
                                      "dropout: expected 0 <= p < 1, got 1"));
  EXPECT_TRUE(throws_with<ShapeError>([&] { dropout(v({2}), {.p = std::nan("")}); },
                                      "dropout: expected 0 <= p < 1"));
  EXPECT_TRUE(throws_with<ShapeError>(
      [&] {
        dropout_add(v({2, 3}), v({3, 2}), kHalf);
      },
      "dropout_add: x has shape (2, 3), residual (3, 2)"));
}

// Without a stream every call would have the same mask.
TEST(Dropout, NeedsAStream) {
  const Variable<double> x(full({2, 3, 4}, 1.0), true), w(full({4, 4}, 1.0));
  const DropoutOptions half{.p = 0.5};
  const auto refused = [](const std::string& op, const auto& call) {
    EXPECT_TRUE(throws_with<ShapeError>(call, op + ": dropout with p = 0.5 needs rng"));
  };
  refused("dropout", [&] { dropout(x, half); });
  refused("dropout_add", [&] { dropout_add(x, x, half); });
  refused("linear_gelu", [&] { linear_gelu(x, w, {}, Gelu::exact, half); });
  refused("attention", [&] { attention(x, x, x, {.dropout = half}); });
  EXPECT_TRUE(same_bits(dropout(x, {.p = 0}).value(), x.value()));
}

}  // namespace xgrad::test
