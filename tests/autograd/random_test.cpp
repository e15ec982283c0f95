#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/random.hpp>

#include "support/gradients.hpp"

namespace xgrad::test {

namespace {

using Words = std::array<std::uint32_t, 4>;

// Sum of (observed - expected)^2 / expected over equally likely bins.
double chi_squared(const std::vector<std::size_t>& bins, std::size_t draws) {
  const double expected = double(draws) / double(bins.size());
  double sum = 0;
  for (std::size_t count : bins) sum += std::pow(double(count) - expected, 2) / expected;
  return sum;
}

// Its mean is its degrees of freedom f, its variance 2 f; this is five standard deviations away.
double chi_squared_limit(std::size_t bins) {
  const double f = double(bins - 1);
  return f + 5 * std::sqrt(2 * f) + 10;
}

}  // namespace

// The known answers that the authors of Philox publish with Random123, for philox4x32 of 10 rounds.
TEST(Rng, IsPhilox) {
  const Rng zero(0);
  EXPECT_EQ(zero.words(0, 0, 0, 0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const Rng ones(~std::uint64_t(0));
  const std::uint32_t f = ~std::uint32_t(0);
  EXPECT_EQ(ones.words(f, f, f, f), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  const Rng pi(0x299f31d0a4093822);
  EXPECT_EQ(pi.words(0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Rng, LeadsEveryPathToItsOwnStream) {
  const Rng rng(7);
  EXPECT_EQ((rng / "a" / "b").key(), (rng / "a" / "b").key());
  std::set<std::uint64_t> keys;
  std::size_t paths = 0;
  const auto expect_new = [&](const Rng& stream) {
    ++paths;
    keys.insert(stream.key());
    EXPECT_EQ(keys.size(), paths) << "path " << paths << " leads to another's stream";
  };
  expect_new(rng);
  expect_new(Rng(8));
  expect_new(rng / "ab");
  expect_new(rng / "a" / "b");
  expect_new(rng / "b" / "a");
  expect_new(rng / "ba");
  expect_new(rng / "");
  expect_new(rng / 0);
  expect_new(rng / 0 / 0);
  expect_new(rng / std::string_view("\0", 1));
  expect_new(rng / std::string_view("\0\0", 2));
  expect_new(rng / 1);
  expect_new(rng / (std::uint64_t(1) << 32));
  expect_new(rng / "1");
  for (std::size_t length = 1; length < 40; ++length) {
    std::string name(length, 'x');
    expect_new(rng / name);
    name.back() = 'y';
    expect_new(rng / name);
    if (length > 1) {
      name.front() = 'y';
      expect_new(rng / name);
    }
  }
  for (std::uint64_t i = 2; i < 20000; ++i) expect_new(rng / i);
}

TEST(Rng, DrawsUniformNumbers) {
  const Rng rng = Rng(1) / "uniform";
  const std::size_t n = 200000;
  std::vector<std::size_t> bins(100);
  double sum = 0;
  double product = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double u = rng.uniform(i);
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    ++bins[std::size_t(u * 100)];
    sum += u;
    product += (u - 0.5) * (rng.uniform(i + 1) - 0.5);
  }
  EXPECT_LT(chi_squared(bins, n), chi_squared_limit(bins.size()));
  EXPECT_NEAR(sum / double(n), 0.5, 5 / std::sqrt(12.0 * double(n)));
  EXPECT_NEAR(product / double(n), 0, 5 / (12 * std::sqrt(double(n))));
}

TEST(Rng, CountsBeyondThirtyTwoBits) {
  const Rng rng(3);
  const std::uint64_t far = std::uint64_t(1) << 32;
  EXPECT_NE(rng.uniform(5), rng.uniform(far + 5));
  EXPECT_NE(rng.normal(5), rng.normal(far + 5));
  EXPECT_NE(rng.below(far * far - 1, 5), rng.below(far * far - 1, far + 5));
}

TEST(Rng, DrawsSeveralAtATimeAsOneByOne) {
  const Rng rng = Rng(4) / "several";
  const std::uint64_t far = (std::uint64_t(1) << 32) - 3;
  for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(rng.uniforms(40, far)[i], rng.uniform(far + i));
  for (const std::size_t n : {0, 1, 7, 8, 31, 32, 33, 64, 100}) {
    const auto uniforms = rng.uniforms(n), normals = rng.normals(n);
    ASSERT_EQ(uniforms.size(), n);
    ASSERT_EQ(normals.size(), n);
    for (std::size_t i = 0; i < n; ++i) {
      EXPECT_EQ(uniforms[i], rng.uniform(i)) << n << ' ' << i;
      EXPECT_EQ(normals[i], rng.normal(i)) << n << ' ' << i;
    }
  }
}

TEST(Rng, DrawsNormalNumbers) {
  const Rng rng = Rng(2) / "normal";
  const std::size_t n = 400000;
  double moments[5] = {};
  std::size_t tail = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double z = rng.normal(i);
    ASSERT_TRUE(std::isfinite(z));
    for (int k = 1; k <= 4; ++k) moments[k] += std::pow(z, k) / double(n);
    tail += std::fabs(z) > 2.5758293035489;  // one in a hundred
  }
  const double unit = 1 / std::sqrt(double(n));  // of the standard error of the mean
  EXPECT_NEAR(moments[1], 0, 5 * unit);
  EXPECT_NEAR(moments[2], 1, 5 * std::sqrt(2.0) * unit);
  EXPECT_NEAR(moments[3], 0, 5 * std::sqrt(15.0) * unit);
  EXPECT_NEAR(moments[4], 3, 5 * std::sqrt(96.0) * unit);
  EXPECT_NEAR(double(tail) / double(n), 0.01, 5 * 0.1 * unit);
}

TEST(Rng, DrawsIntegersWithoutBias) {
  const Rng rng = Rng(3) / "below";
  for (std::uint64_t bound : {1, 2, 3, 6, 7, 100}) {
    std::vector<std::size_t> bins(bound);
    for (std::size_t i = 0; i < 50000; ++i) ++bins.at(rng.below(bound, i));
    EXPECT_LT(chi_squared(bins, 50000), chi_squared_limit(bins.size())) << bound;
  }
  // Three quarters of 2^64: a remainder without rejection falls twice as often into the first
  // third.
  const std::uint64_t large = std::uint64_t(3) << 62;
  std::vector<std::size_t> thirds(3);
  for (std::size_t i = 0; i < 50000; ++i) ++thirds.at(rng.below(large, i) >> 62);
  EXPECT_LT(chi_squared(thirds, 50000), chi_squared_limit(3));
  EXPECT_TRUE(throws_with<ShapeError>([&] { rng.below(0, 0); }, "expected bound > 0, got 0"));
}

TEST(Rng, PermutesEveryNumberToSomePlace) {
  for (std::size_t n : {0, 1, 2, 3, 10, 1000}) {
    std::vector<std::size_t> order = (Rng(4) / n).permutation(n);
    std::sort(order.begin(), order.end());
    ASSERT_EQ(order.size(), n);
    for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(order[i], i);
  }
}

TEST(Rng, PermutesEvenly) {
  std::map<std::vector<std::size_t>, std::size_t> counts;
  const std::size_t draws = 24000;
  for (std::size_t i = 0; i < draws; ++i) ++counts[(Rng(5) / i).permutation(4)];
  std::vector<std::size_t> bins;
  for (const auto& [order, count] : counts) bins.push_back(count);
  ASSERT_EQ(bins.size(), 24u);
  EXPECT_LT(chi_squared(bins, draws), chi_squared_limit(24));
}

}  // namespace xgrad::test
