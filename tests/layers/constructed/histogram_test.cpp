// One layer with one head that says of each token how often its symbol occurs, at any length, from
// a beginning token and without positions. After RASP's histogram (Weiss et al. 2021).
#include <gtest/gtest.h>

#include <algorithm>

#include "layers/constructed/constructed.hpp"

namespace xgrad::test {
namespace {

constexpr std::size_t kSymbols = 5, kMost = 20;
constexpr std::int32_t kBegin = kSymbols;
constexpr std::size_t kShare = kSymbols + 1;  // the feature that holds 1 / (1 + count)
constexpr double kSharp = 40;

/// Features: tokens one-hot, the beginning among them, then the share.
struct Histogram : Constructed {
  Histogram() : Constructed(options()) {
    // A token attends to its like and to the beginning, all with the same score: the beginning's
    // part is 1 / (1 + count).
    for (std::size_t symbol = 0; symbol < kSymbols; ++symbol) {
      token(symbol, symbol) = 1;
      query(0, 0, symbol, symbol) = kSharp;
      key(0, 0, symbol, symbol) = 1;
      key(0, 0, std::size_t(kBegin), symbol) = 1;
    }
    token(std::size_t(kBegin), std::size_t(kBegin)) = 1;
    attended(0, 0, std::size_t(kBegin), 0) = 1;
    output(0, 0, 0, kShare) = 1;
    // The nearest of 1 / (1 + c) to the share r: -(r - a)^2 for a = 1 / (1 + c) is linear in r but
    // for r^2, which is the same for every class c.
    for (std::size_t c = 0; c <= kMost; ++c) {
      const double a = 1 / (1 + double(c));
      logit(kShare, c) = 2 * a;
      logit_bias(c) = -a * a;
    }
  }

  static EncoderModelOptions options() {
    EncoderModelOptions o;
    o.input = {.vocabulary = kSymbols + 1, .positions = PositionKind::none};
    o.encoder.layers = 1;
    o.encoder.attention = {.width = kSymbols + 2, .heads = 1, .scale = 1};
    o.encoder.feedforward = 1;
    o.classes = kMost + 1;
    return o;
  }
};

TEST(ConstructedHistogram, CountsAtEveryLength) {
  const Histogram histogram;
  for (std::size_t length = 1; length <= kMost; ++length) {
    const Ids ids = random_ids({length}, Rng(9) / length, kSymbols);
    std::vector<std::int32_t> row = {kBegin};
    row.insert(row.end(), ids.data(), ids.data() + length);
    const Tensor<double> logits = histogram({row});
    for (std::size_t i = 1; i < row.size(); ++i) {
      const double* first = logits.data() + i * (kMost + 1);
      EXPECT_EQ(std::max_element(first, first + kMost + 1) - first,
                std::count(row.begin(), row.end(), row[i]))
          << "length " << length << ", token " << i;
    }
  }
}

}  // namespace
}  // namespace xgrad::test
