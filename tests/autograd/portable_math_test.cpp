#include <xgrad/autograd/portable_math.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <xgrad/autograd/random.hpp>

namespace xgrad {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Function {
  std::string name;
  double (*ours)(double);
  long double (*exact)(long double);  // of the C library, with 64 bits or more
  double (*library)(double);
  double low, high;  // of the arguments
  double most_ulp;
};

void PrintTo(const Function& function, std::ostream* out) {
  *out << function.name;
}

const std::vector<Function>& functions() {
  static const std::vector<Function> all = {
      {"exp", portable::exp, std::exp, std::exp, -746, 710, 1},
      {"exp2", portable::exp2, std::exp2, std::exp2, -1076, 1024, 1},
      {"log", portable::log, std::log, std::log, 0, 4, 0.6},
      {"log1p", portable::log1p, std::log1p, std::log1p, -1, 4, 0.8},
      {"sin", portable::sin, std::sin, std::sin, -1e6, 1e6, 1},
      {"cos", portable::cos, std::cos, std::cos, -1e6, 1e6, 1},
      {"tanh", portable::tanh, std::tanh, std::tanh, -6, 6, 3},
      {"erf", portable::erf, std::erf, std::erf, -6, 6, 2},
  };
  return all;
}

// Arguments of a function: spread evenly, and of every magnitude.
std::vector<double> arguments(const Function& function) {
  const Rng rng(1);
  std::vector<double> x;
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    x.push_back(std::fma(function.high - function.low, rng.uniform(2 * i), function.low));
    const double small = std::ldexp(rng.uniform(2 * i + 1) - 0.5, -int(i % 1000));
    if (small > function.low) x.push_back(small);
  }
  return x;
}

// |y - exact| in units of the last place of double.
double error(double y, long double exact) {
  if (std::abs(exact) > (long double)(std::numeric_limits<double>::max()))
    return y == double(exact) ? 0 : kInfinity;
  int exponent = 0;
  std::frexp(exact, &exponent);
  return double(std::abs(y - exact) / std::ldexp(1.0L, std::max(exponent - 53, -1074)));
}

bool same(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

class PortableMath : public testing::TestWithParam<Function> {};

TEST_P(PortableMath, IsAccurate) {
  const Function& f = GetParam();
  for (const double x : arguments(f)) {
    ASSERT_LT(error(f.ours(x), f.exact(x)), f.most_ulp) << x;
  }
}

TEST_P(PortableMath, GivesWhatIeee754SaysAtSpecialValues) {
  const Function& f = GetParam();
  for (const double x : {0.0, -0.0, 1e-320, kInfinity, -kInfinity, kNaN, -kNaN}) {
    EXPECT_TRUE(same(f.ours(x), f.library(x))) << f.ours(x) << " at " << x;
  }
}

INSTANTIATE_TEST_SUITE_P(Functions, PortableMath, testing::ValuesIn(functions()),
                         [](const auto& test) { return test.param.name; });

TEST(PortableMath, LogarithmsOfNegativeNumbersAreNaN) {
  EXPECT_TRUE(std::isnan(portable::log(-1)));
  EXPECT_TRUE(std::isnan(portable::log1p(-1.5)));
  EXPECT_EQ(portable::log1p(-1), -kInfinity);
}

TEST(PortableMath, WholePowersOfTwoAreExact) {
  for (int n = -1074; n < 1024; ++n) {
    EXPECT_EQ(portable::exp2(n), std::ldexp(1.0, n));
    EXPECT_EQ(portable::pow(2, n), std::ldexp(1.0, n));
  }
}

TEST(PortableMath, PowIsAccurate) {
  const Rng rng(2);
  for (std::uint64_t i = 0; i < 300'000; ++i) {
    const double x = std::ldexp(1 + rng.uniform(2 * i), int(i % 2000) - 1060);
    const double y = (2 * rng.uniform(2 * i + 1) - 1) * 740 / std::abs(std::log(x));
    ASSERT_LT(error(portable::pow(x, y), std::pow((long double)(x), (long double)(y))), 1)
        << x << " " << y;
  }
}

TEST(PortableMath, PowGivesWhatIeee754SaysAtSpecialValues) {
  const std::vector<double> special = {0.0,   -0.0,   1,         -1,         2,      -2,
                                       3,     -3,     0.5,       -0.5,       1e-320, 1e18,
                                       1e300, -1e300, kInfinity, -kInfinity, kNaN};
  for (const double x : special) {
    for (const double y : special) {
      const double ours = portable::pow(x, y), library = std::pow(x, y);
      const bool near = std::isfinite(library) && library != 0 && error(ours, library) <= 1;
      EXPECT_TRUE(near || same(ours, library))
          << x << " " << y << ": " << ours << ", not " << library;
    }
  }
}

// These hold on every machine, whatever compiles this.
TEST(PortableMath, GivesTheseBits) {
  const auto hash = [](const Function& f) {
    std::uint64_t sum = 0xcbf29ce484222325;  // FNV-1a, by words
    for (const double x : arguments(f)) {
      sum = (sum ^ std::bit_cast<std::uint64_t>(f.ours(x))) * 0x100000001b3;
    }
    return sum;
  };
  std::vector<std::pair<std::string, std::uint64_t>> found;
  for (const Function& f : functions()) found.emplace_back(f.name, hash(f));
  const std::vector<std::pair<std::string, std::uint64_t>> wanted = {
      {"exp", 18197108313600222758u}, {"exp2", 2842619216619821316},
      {"log", 12703585504145446111u}, {"log1p", 734623792981480996},
      {"sin", 14876523168856524737u}, {"cos", 3743392851300742459},
      {"tanh", 312449831690136368},   {"erf", 11843077816572963917u}};
  EXPECT_EQ(found, wanted);
}

}  // namespace
}  // namespace xgrad
