// One layer with one head that outputs the token at another place: copy and reverse. In RASP (Weiss
// et al. 2021): aggregate(select(indices, target, ==), tokens).
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "layers/constructed/constructed.hpp"

namespace xgrad::test {
namespace {

constexpr std::size_t kLength = 12, kSymbols = 7;
constexpr double kSharp = 40;  // how far the score of the right place is above all others

/// Features: tokens one-hot, then places one-hot, then the answer one-hot.
struct Reorder : Constructed {
  explicit Reorder(const std::function<std::size_t(std::size_t)>& source) : Constructed(options()) {
    for (std::size_t i = 0; i < kLength; ++i) {
      position(i, kSymbols + i) = 1;
      query(0, 0, kSymbols + i, source(i)) = kSharp;
      key(0, 0, kSymbols + i, i) = 1;
    }
    for (std::size_t symbol = 0; symbol < kSymbols; ++symbol) {
      const std::size_t answer = kSymbols + kLength + symbol;
      token(symbol, symbol) = 1;
      attended(0, 0, symbol, symbol) = 1;
      output(0, 0, symbol, answer) = 1;
      logit(answer, symbol) = 1;
    }
  }

  static EncoderModelOptions options() {
    EncoderModelOptions o;
    o.input = {.vocabulary = kSymbols, .max_length = kLength};
    o.encoder.layers = 1;
    o.encoder.attention = {
        .width = 2 * kSymbols + kLength, .heads = 1, .head_dim = kLength, .scale = 1};
    o.encoder.feedforward = 1;
    o.classes = kSymbols;
    return o;
  }
};

// The logits are the one-hot answers, but for what the other places add: (N - 1) e^-40.
void expect_reordered(const std::function<std::size_t(std::size_t)>& source) {
  const Reorder model(source);
  const Ids ids = random_ids({50, kLength}, Rng(8), kSymbols);
  std::vector<std::vector<std::int32_t>> rows;
  for (std::size_t b = 0; b < 50; ++b) {
    rows.emplace_back(ids.data() + b * kLength, ids.data() + (b + 1) * kLength);
  }
  const Tensor<double> logits = model(rows);
  for (std::size_t b = 0; b < 50; ++b) {
    for (std::size_t i = 0; i < kLength; ++i) {
      for (std::size_t symbol = 0; symbol < kSymbols; ++symbol) {
        const bool right = std::size_t(ids(b, source(i))) == symbol;
        EXPECT_NEAR(logits(b, i, symbol), right ? 1 : 0, kLength * std::exp(-kSharp) + 1e-15);
      }
    }
  }
}

TEST(ConstructedReorder, Copy) {
  expect_reordered([](std::size_t i) { return i; });
}

TEST(ConstructedReorder, Reverse) {
  expect_reordered([](std::size_t i) { return kLength - 1 - i; });
}

}  // namespace
}  // namespace xgrad::test
