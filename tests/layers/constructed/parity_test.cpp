// Two layers that tell odd from even at any length: Chiang & Cholak 2022, section 3.1; the weights
// are those of the authors' program.
#include <gtest/gtest.h>

#include <numeric>

#include "layers/constructed/constructed.hpp"

namespace xgrad::test {
namespace {

using Bits = std::vector<std::int32_t>;

constexpr std::int32_t kEnd = 2;  // the token behind the bits, at which the answer stands
// Features: tokens one-hot in 0 to 2, i/n in 3, (-1)^i in 4, then what the layers find.
constexpr std::size_t kIndex = 3, kSign = 4, kOnes = 5, kUnit = 6, kLast = 7, kAnswer = 8;

struct Parity : Constructed {
  Parity() : Constructed(options()) {
    for (std::size_t id = 0; id < 3; ++id) token(std::size_t(id), id) = 1;
    position(kIndex, 0) = 1;
    position(kSign, 1) = 1;

    // Without queries a head takes the mean: k/n of the k ones, and 1/n of the end alone.
    attended(0, 0, 1, 0) = 1;
    attended(0, 0, kEnd, 1) = 1;
    output(0, 0, 0, kOnes) = 1;
    output(0, 0, 1, kUnit) = 1;
    // 1/n at place i = k and 0 elsewhere: (k-i-1)_+ - 2 (k-i)_+ + (k-i+1)_+, all over n.
    for (std::size_t h = 0; h < 3; ++h) {
      hidden(0, kOnes, h) = 1;
      hidden(0, kIndex, h) = -1;
      hidden(0, kUnit, h) = double(h) - 1;
      mlp(0, h, kLast) = h == 1 ? -2 : 1;
    }

    // From the end, one head looks at even places and one at odd ones; place k is odd or even.
    for (std::size_t head = 0; head < 2; ++head) {
      query(1, head, kEnd, 0) = 1;
      key(1, head, kSign, 0) = head == 0 ? 1 : -1;
      attended(1, head, kLast, 0) = 1;
      output(1, head, 0, kAnswer) = head == 0 ? -1 : 1;
    }
    logit(kAnswer, 0) = 1;
  }

  static EncoderModelOptions options() {
    EncoderModelOptions o;
    o.input = {.vocabulary = 3, .positions = PositionKind::relative_index};
    o.encoder.layers = 2;
    o.encoder.attention = {.width = 10, .heads = 2};
    o.encoder.feedforward = 3;
    o.classes = 1;
    return o;
  }

  /// Positive for an odd number of ones.
  double logit_of(Bits bits) const {
    bits.push_back(kEnd);
    return (*this)({bits})(0, bits.size() - 1, 0);
  }
};

Bits random_bits(std::size_t length, const Rng& rng) {
  const Ids ids = random_ids({length}, rng, 2);
  return Bits(ids.data(), ids.data() + length);
}

bool odd(const Bits& bits) {
  return std::accumulate(bits.begin(), bits.end(), 0) % 2 == 1;
}

TEST(ConstructedParity, LogitsOfTheAuthorsWeights) {
  const Parity parity;
  EXPECT_NEAR(parity.logit_of({1, 0, 1, 1}), 0.0405678752, 5e-11);
  EXPECT_NEAR(parity.logit_of({1, 0, 1, 0}), -0.0270452501, 5e-11);
}

TEST(ConstructedParity, RightAtEveryLengthTo100) {
  const Parity parity;
  double least = 1;
  for (std::size_t length = 1; length <= 100; ++length) {
    for (std::size_t i = 0; i < 5; ++i) {
      const Bits bits = random_bits(length, Rng(5) / length / i);
      const double logit = parity.logit_of(bits);
      EXPECT_EQ(logit > 0, odd(bits)) << "length " << length;
      least = std::min(least, std::fabs(logit));
    }
  }
  // One bit's share shrinks with the square of the length: 8.15e-5 is the least at length 100.
  EXPECT_GT(least, 8e-5);
  EXPECT_LT(least, 1e-3);
}

// i/n counts the tokens of each sample, so padding leaves the answers as they are. S4.1.
TEST(ConstructedParity, S4_1_RightWhenPadded) {
  const Parity parity;
  std::vector<Bits> rows;
  std::vector<double> alone;
  for (std::size_t length : {3u, 17u, 1u, 8u}) {
    rows.push_back(random_bits(length, Rng(6) / length));
    alone.push_back(parity.logit_of(rows.back()));
    rows.back().push_back(kEnd);
  }
  const Tensor<double> logits = parity(rows);
  for (std::size_t b = 0; b < rows.size(); ++b) {
    EXPECT_NEAR(logits(b, rows[b].size() - 1, 0), alone[b], 1e-15);
  }
}

}  // namespace
}  // namespace xgrad::test
