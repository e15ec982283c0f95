#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include <xgrad/autograd/kernels/math.hpp>

namespace xgrad::test {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// Four million floats: every thousandth from the smallest to the largest, of both signs.
std::vector<float> floats(float low, float high) {
  std::vector<float> x;
  for (std::uint32_t bits = 0; bits < 0x7f800000u; bits += 1009) {
    for (float sign : {1.0f, -1.0f}) {
      const float v = sign * std::bit_cast<float>(bits);
      if (v >= low && v <= high) x.push_back(v);
    }
  }
  return x;
}

// A plain loop, which the compiler turns into vector code as in the kernels.
template <class F>
std::vector<float> map(const std::vector<float>& x, const F& f) {
  std::vector<float> y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = f(x[i]);
  return y;
}

// The largest of |y - f(x)| and of |y - f(x)| / |f(x)|.
template <class F>
std::pair<double, double> errors(const std::vector<float>& x, const std::vector<float>& y,
                                 const F& f) {
  double absolute = 0;
  double relative = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double expected = f(double(x[i]));
    const double error = std::fabs(y[i] - expected);
    if (!(error <= absolute)) absolute = error;
    if (expected != 0 && !(error / std::fabs(expected) <= relative)) {
      relative = error / std::fabs(expected);
    }
  }
  return {absolute, relative};
}

float exp_of(float x) {
  return detail::exp(x);
}
float tanh_of(float x) {
  return detail::tanh(x);
}
float erf_of(float x) {
  return detail::erf(x);
}

}  // namespace

TEST(Math, ExpIsWithinItsBound) {
  const auto x = floats(-86.9f, 88.72f);
  ASSERT_GT(x.size(), 2000000u);
  const auto y = map(x, exp_of);
  EXPECT_LT(errors(x, y, [](double v) { return std::exp(v); }).second, 2e-7);
}

TEST(Math, ExpAtItsEnds) {
  const auto y =
      map({0.0f, -0.0f, -87.4f, -1e30f, -kInfinity, kNaN, -kNaN, 88.8f, kInfinity}, exp_of);
  EXPECT_EQ(y[0], 1);
  EXPECT_EQ(y[1], 1);
  EXPECT_EQ(y[2], 0);
  EXPECT_EQ(y[3], 0);
  EXPECT_EQ(y[4], 0);
  EXPECT_TRUE(std::isnan(y[5]));
  EXPECT_TRUE(std::isnan(y[6]));
  EXPECT_EQ(y[7], kInfinity);
  EXPECT_EQ(y[8], kInfinity);
}

TEST(Math, TanhIsWithinItsBound) {
  const auto x = floats(-1e30f, 1e30f);
  const auto y = map(x, tanh_of);
  const auto [absolute, relative] = errors(x, y, [](double v) { return std::tanh(v); });
  EXPECT_LT(absolute, 2e-7);
  EXPECT_LT(relative, 1e-6);
}

TEST(Math, TanhAtItsEnds) {
  const auto y = map({0.0f, -0.0f, kInfinity, -kInfinity, kNaN}, tanh_of);
  EXPECT_EQ(y[0], 0);
  EXPECT_EQ(y[1], 0);
  EXPECT_EQ(y[2], 1);
  EXPECT_EQ(y[3], -1);
  EXPECT_TRUE(std::isnan(y[4]));
}

TEST(Math, ErfIsWithinItsBound) {
  auto x = floats(-1e30f, 1e30f);
  std::erase_if(x, [](float v) { return std::fabs(v) < 1e-35f; });  // whose products are denormal
  const auto y = map(x, erf_of);
  const auto [absolute, relative] = errors(x, y, [](double v) { return std::erf(v); });
  EXPECT_LT(absolute, 4e-7);
  EXPECT_LT(relative, 1e-6);
}

TEST(Math, ErfAtItsEnds) {
  const auto y = map({0.0f, kInfinity, -kInfinity, kNaN}, erf_of);
  EXPECT_EQ(y[0], 0);
  EXPECT_NEAR(y[1], 1, 4e-7);
  EXPECT_NEAR(y[2], -1, 4e-7);
  EXPECT_TRUE(std::isnan(y[3]));
}

TEST(Math, DoublesArePortable) {
  for (double x = -5; x < 5; x += 0.01) {
    EXPECT_EQ(detail::exp(x), portable::exp(x));
    EXPECT_EQ(detail::tanh(x), portable::tanh(x));
    EXPECT_EQ(detail::erf(x), portable::erf(x));
    EXPECT_NEAR(detail::normal_cdf(x), 0.5 * std::erfc(-x / std::sqrt(2.0)), 2e-16);
    EXPECT_NEAR(detail::normal_pdf(x), std::exp(-x * x / 2) / std::sqrt(2 * std::acos(-1.0)),
                2e-16);
  }
}

}  // namespace xgrad::test
