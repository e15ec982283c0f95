// Two layers that give back the first of n symbols: Chiang & Cholak 2022, section 3.2; the weights
// are those of the authors' program.
#include <gtest/gtest.h>

#include <cmath>

#include "layers/constructed/constructed.hpp"

namespace xgrad::test {
namespace {

using Bits = std::vector<std::int32_t>;

constexpr std::size_t kLongest = 1000;
// Features: tokens one-hot in 0 and 1, the class token in 2, whether the place is 1 in 3.
constexpr std::size_t kClass = 2, kFirst = 3, kFirstIsOne = 4, kAnswer = 5;

struct First : Constructed {
  /// `scale` of the attention scores; 1/sqrt(6) unless given.
  explicit First(std::optional<double> scale = std::nullopt) : Constructed(options(scale)) {
    token(0, 0) = token(1, 1) = class_token(kClass) = 1;
    position(1, kFirst) = 1;

    // (x_1 + x_first - 1)_+ is 1 for a one at the first place.
    hidden(0, 1, 0) = hidden(0, kFirst, 0) = 1;
    hidden_bias(0, 0) = -1;
    mlp(0, 0, kFirstIsOne) = 1;

    // The class token looks for the first place, which says 1/2 or -1/2.
    query(1, 0, kClass, 0) = 1;
    key(1, 0, kFirst, 0) = 1;
    attended(1, 0, kFirst, 5) = -0.5;
    attended(1, 0, kFirstIsOne, 5) = 1;
    output(1, 0, 5, kAnswer) = 1;
    logit(kAnswer, 0) = 1;
  }

  static EncoderModelOptions options(std::optional<double> scale) {
    EncoderModelOptions o;
    o.input = {.vocabulary = 2, .max_length = kLongest};
    o.encoder.layers = 2;
    o.encoder.attention = {.width = 6, .heads = 1, .scale = scale};
    o.encoder.feedforward = 1;
    o.pool = Pool::cls;
    o.classes = 1;
    return o;
  }
};

Bits random_bits(std::size_t length) {
  const Ids ids = random_ids({length}, Rng(7) / length, 2);
  return Bits(ids.data(), ids.data() + length);
}

// Of n symbols and the class token, the first has score s and all others 0.
double share(double s, double n) {
  return std::exp(s) / (std::exp(s) + n);
}

// Right at any length, but surer of nothing: the share of the first symbol falls as 1/n.
TEST(ConstructedFirst, TheLogitFadesWithTheLength) {
  const First first;
  for (const std::size_t n : {1u, 2u, 3u, 10u, 100u, 999u}) {
    const Bits bits = random_bits(n);
    const double sign = bits[0] == 1 ? 0.5 : -0.5;
    EXPECT_NEAR(first({bits})(0, 0), sign * share(1 / std::sqrt(6.0), double(n)), 1e-15) << n;
  }
}

// Their remedy: scores times log n make the share n / (n + n) = 1/2 at every length.
TEST(ConstructedFirst, ScalingByTheLogarithmOfTheLengthKeepsIt) {
  for (const std::size_t n : {2u, 10u, 100u, 999u}) {
    const First first(std::log(double(n)));
    const Bits bits = random_bits(n);
    EXPECT_NEAR(first({bits})(0, 0), bits[0] == 1 ? 0.25 : -0.25, 1e-13) << n;
  }
}

}  // namespace
}  // namespace xgrad::test
