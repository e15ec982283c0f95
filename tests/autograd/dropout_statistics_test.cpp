// The mask as random numbers; dropout_factors_test.cpp holds it to the generator's words.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include <xgrad/autograd/random.hpp>

namespace xgrad::test {

namespace {

std::vector<double> factors(const Rng& rng, double p, std::uint32_t sample, std::uint32_t head,
                            std::uint32_t token, std::size_t n) {
  std::vector<double> result(n);
  dropout_factors(rng, p, sample, head, token, n, result.data());
  return result;
}

double kept(const std::vector<double>& values) {
  double count = 0;
  for (double v : values) count += v != 0;
  return count;
}

}  // namespace

TEST(DropoutMask, KeepsItsMean) {
  for (double p : {0.1, 0.25, 0.5, 0.9}) {
    double keep = 0;
    double sum = 0;
    const std::size_t rows = 200;
    const std::size_t n = 1000;
    for (std::uint32_t token = 0; token < rows; ++token) {
      for (double f : factors(Rng(1), p, 0, 0, token, n)) {
        keep += f != 0;
        sum += f;
        if (f != 0) {
          ASSERT_NEAR(f * (1 - p), 1, 1e-4);
        }
      }
    }
    const double total = double(rows * n);
    const double error = std::sqrt(p * (1 - p) / total);
    EXPECT_NEAR(keep / total, 1 - p, 5 * error + 1e-5);
    EXPECT_NEAR(sum / total, 1, 5 * error / (1 - p));
  }
}

TEST(DropoutMask, IsExactAtTheEnds) {
  EXPECT_EQ(factors(Rng(1), 0, 0, 0, 0, 100), std::vector<double>(100, 1));
  EXPECT_EQ(factors(Rng(1), 1, 0, 0, 0, 100), std::vector<double>(100, 0));
  for (double f : factors(Rng(1), 0.5, 0, 0, 0, 100)) EXPECT_TRUE(f == 0 || f == 2);
  for (double f : factors(Rng(1), 0.75, 0, 0, 0, 100)) EXPECT_TRUE(f == 0 || f == 4);
}

// Neighbours in every coordinate agree as often as independent masks do: with p = 1/2, half of the
// time.
TEST(DropoutMask, IsIndependentInEveryCoordinate) {
  const std::size_t n = 40000;
  const auto base = factors(Rng(5), 0.5, 1, 1, 1, n);
  const std::vector<std::vector<double>> others = {
      factors(Rng(6), 0.5, 1, 1, 1, n), factors(Rng(5), 0.5, 2, 1, 1, n),
      factors(Rng(5), 0.5, 1, 2, 1, n), factors(Rng(5), 0.5, 1, 1, 2, n)};
  for (const auto& other : others) {
    double equal = 0;
    for (std::size_t i = 0; i < n; ++i) equal += base[i] == other[i];
    EXPECT_NEAR(equal / double(n), 0.5, 5 * 0.5 / std::sqrt(double(n)));
  }
  for (std::size_t distance : {1, 2, 7, 8, 16}) {
    double equal = 0;
    for (std::size_t i = distance; i < n; ++i) equal += base[i] == base[i - distance];
    EXPECT_NEAR(equal / double(n - distance), 0.5, 5 * 0.5 / std::sqrt(double(n)));
  }
  EXPECT_NEAR(kept(base) / double(n), 0.5, 5 * 0.5 / std::sqrt(double(n)));
}

}  // namespace xgrad::test
