// Rounding to bfloat16, against the definition.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <xgrad/autograd/kernels/operands.hpp>

#include "support/tensors.hpp"

namespace xgrad::test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

float float_of(std::uint32_t bits) {
  return std::bit_cast<float>(bits);
}

// The bfloat16 next to x towards zero, as an exact number, and the one beyond it. Beyond the
// largest, that is the power of two which infinity stands for.
struct Neighbours {
  double inner, outer;
};

// Eight significant bits, or fewer below the smallest normal number.
Neighbours neighbours(double x) {
  int exponent = 0;
  std::frexp(x, &exponent);  // |x| is in [1/2, 1) 2^exponent
  const double unit = std::ldexp(1.0, std::max(exponent - 8, -126 - 7));
  const double inner = std::trunc(x / unit) * unit;
  return {inner, inner + std::copysign(unit, x)};
}

// Round to nearest, ties to the neighbour with an even last bit, in double, where all is exact.
double nearest_bf16(float value) {
  const double x = value;
  const auto [inner, outer] = neighbours(x);
  if (x == inner) return x;
  const double to_inner = std::abs(x - inner), to_outer = std::abs(outer - x);
  const double unit = std::abs(outer - inner);
  const bool inner_is_even = std::fmod(std::abs(inner) / unit, 2) == 0;
  const double chosen =
      to_inner < to_outer || (to_inner == to_outer && inner_is_even) ? inner : outer;
  return std::abs(chosen) == std::ldexp(1.0, 128) ? std::copysign(kInfinity, x) : chosen;
}

// Every upper half of a float, with lower halves below, at and above the middle.
TEST(Bf16, IsTheNearest) {
  for (std::uint32_t upper = 0; upper < 0x10000; ++upper) {
    for (const std::uint32_t lower : {0x0000, 0x0001, 0x7fff, 0x8000, 0x8001, 0xffff}) {
      const float x = float_of(upper << 16 | lower);
      const auto y = float(Bf16(x));
      if (std::isnan(x)) {
        ASSERT_TRUE(std::isnan(y)) << std::hex << upper << lower;
      } else if (std::isinf(x)) {
        ASSERT_EQ(y, x);
      } else {
        ASSERT_EQ(y, nearest_bf16(x)) << x;
      }
      ASSERT_EQ(std::signbit(y), std::signbit(x)) << x;
    }
  }
}

// Written down by hand, so that the reference above is checked too.
TEST(Bf16, KnownNumbers) {
  EXPECT_EQ(Bf16(1.0f).bits, 0x3f80);
  EXPECT_EQ(Bf16(-2.0f).bits, 0xc000);
  EXPECT_EQ(Bf16(0.0f).bits, 0x0000);
  EXPECT_EQ(Bf16(-0.0f).bits, 0x8000);
  EXPECT_EQ(Bf16(1.00390625f).bits, 0x3f80);  // 1 + 2^-8, a tie: to even, down
  EXPECT_EQ(Bf16(1.01171875f).bits, 0x3f82);  // 1 + 3 2^-8, a tie: to even, up
  EXPECT_EQ(Bf16(std::nextafter(1.00390625f, 2.f)).bits, 0x3f81);
  EXPECT_EQ(Bf16(3.14159265f).bits, 0x4049);
  EXPECT_EQ(Bf16(float_of(0x7f7f7fff)).bits, 0x7f7f);  // just below the middle to infinity
  EXPECT_EQ(Bf16(float_of(0x7f7f8000)).bits, 0x7f80);  // the middle: to even, infinity
  EXPECT_EQ(Bf16(std::numeric_limits<float>::max()).bits, 0x7f80);
  EXPECT_EQ(Bf16(std::numeric_limits<float>::lowest()).bits, 0xff80);
  EXPECT_EQ(Bf16(kInfinity).bits, 0x7f80);
  EXPECT_EQ(Bf16(float_of(0x00000001)).bits, 0x0000);  // the least subnormal
  EXPECT_EQ(Bf16(float_of(0x00018000)).bits, 0x0002);  // a subnormal tie
  EXPECT_EQ(Bf16(float_of(0x7f800001)).bits, 0x7fc0);  // NaN, also with its payload below
  EXPECT_EQ(Bf16(float_of(0xffbfffff)).bits, 0xffff);
}

TEST(Bf16, RoundsTensorsOfEverySize) {
  for (const std::size_t size : {0, 1, 7, 63, 64, 65, 40000}) {
    const auto x = random_tensor<float>({size}, Rng(1));
    const Tensor<Bf16> y = detail::rounded(x);
    ASSERT_EQ(y.shape(), x.shape());
    for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(float(y.data()[i]), nearest_bf16(x.data()[i]));
  }
}

// The vectorised rounding of tensors against that of single numbers, NaN and infinity too.
TEST(Bf16, RoundsTensorsAsItRoundsNumbers) {
  Tensor<float> x = empty<float>({3 << 16});
  for (std::size_t i = 0; i < x.size(); ++i) {
    constexpr std::uint32_t kLower[] = {0x0001, 0x8000, 0xffff};
    x.data()[i] = float_of(std::uint32_t(i / 3) << 16 | kLower[i % 3]);
  }
  const Tensor<Bf16> y = detail::rounded(x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(y.data()[i].bits, Bf16(x.data()[i]).bits) << i;
  }
}

TEST(Autocast, HoldsForItsScopeAndThread) {
  EXPECT_FALSE(autocast_enabled());
  {
    const Autocast on;
    EXPECT_TRUE(autocast_enabled());
    {
      const Autocast off(false);
      EXPECT_FALSE(autocast_enabled());
    }
    EXPECT_TRUE(autocast_enabled());
  }
  EXPECT_FALSE(autocast_enabled());
}

}  // namespace
}  // namespace xgrad::test
