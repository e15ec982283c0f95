// The vectorised dropout mask against one Philox call at a time.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include <xgrad/autograd/random.hpp>

namespace xgrad {
namespace {

template <class T>
class DropoutFactors : public ::testing::Test {};
using Scalars = ::testing::Types<float, double, long double>;
TYPED_TEST_SUITE(DropoutFactors, Scalars);

template <class T>
T expected(const Rng& rng, double p, std::uint32_t sample, std::uint32_t head, std::uint32_t token,
           std::size_t e) {
  const auto threshold = std::uint32_t(std::lround(p * 65536));
  const auto words = rng.words(std::uint32_t(e / 8), token, head, sample);
  const std::uint32_t bits = words[e % 8 / 2] >> (16 * (e % 2)) & 0xFFFFu;
  return bits < threshold ? T(0) : T(65536) / T(65536 - threshold);
}

TYPED_TEST(DropoutFactors, AreTheWordsOfTheGeneratorForEverySize) {
  const Rng rng = Rng(0xFEDCBA9876543210u) / "dropout";
  const TypeParam untouched = -7;
  for (const std::size_t n :
       {1, 2, 7, 8, 9, 15, 16, 17, 33, 63, 64, 65, 96, 255, 256, 257, 300, 1031}) {
    for (const std::size_t rows : {1, 2, 3, 5, 37}) {
      for (const std::size_t gap : {0, 3}) {
        const std::uint32_t sample = 5 + n, head = 3, token = 0xFFFFFFF0u;  // tokens wrap around
        std::vector<TypeParam> factors(rows * (n + gap), untouched);
        dropout_factors(rng, 0.3, sample, head, token, rows, n, factors.data(), n + gap);
        for (std::size_t at = 0; at < factors.size(); ++at) {
          const std::size_t row = at / (n + gap), e = at % (n + gap);
          const TypeParam want =
              e < n ? expected<TypeParam>(rng, 0.3, sample, head, token + std::uint32_t(row), e)
                    : untouched;
          ASSERT_EQ(factors[at], want)
              << n << " elements, " << rows << " rows, row " << row << ", element " << e;
        }
      }
    }
  }
}

TYPED_TEST(DropoutFactors, BeginAtAnyWordOfARow) {
  const Rng rng(17);
  for (const std::size_t first : {8, 16, 240, 480, 1024}) {
    for (const std::size_t n : {1, 8, 21, 240, 247}) {
      std::vector<TypeParam> factors(3 * n);
      dropout_factors(rng, 0.3, 1, 2, 3, 3, n, factors.data(), n, first);
      for (std::size_t at = 0; at < factors.size(); ++at) {
        ASSERT_EQ(factors[at],
                  expected<TypeParam>(rng, 0.3, 1, 2, std::uint32_t(3 + at / n), first + at % n))
            << n << " elements from " << first << ", row " << at / n << ", element " << at % n;
      }
    }
  }
}

TYPED_TEST(DropoutFactors, LongRows) {
  const std::size_t n = (1 << 18) + 5;  // more blocks in a row than the fast division takes
  const Rng rng(3);
  std::vector<TypeParam> factors(2 * n);
  dropout_factors(rng, 0.5, 1, 2, 3, 2, n, factors.data(), n);
  for (const std::size_t e : {std::size_t(0), std::size_t(77), n - 6, n - 5, n - 1}) {
    EXPECT_EQ(factors[e], expected<TypeParam>(rng, 0.5, 1, 2, 3, e));
    EXPECT_EQ(factors[n + e], expected<TypeParam>(rng, 0.5, 1, 2, 4, e));
  }
}

TYPED_TEST(DropoutFactors, RatesAreExactInUnitsOfTwoToTheMinus16) {
  const Rng rng(11);
  for (const double p : {0.0, 1.0 / 65536, 0.1, 0.5, 65535.0 / 65536}) {
    std::vector<TypeParam> factors(80000);
    dropout_factors(rng, p, 0, 0, 0, factors.size(), factors.data());
    const double q = std::lround(p * 65536) / 65536.0;
    std::size_t dropped = 0;
    for (const TypeParam f : factors) {
      dropped += f == 0;
      ASSERT_TRUE(f == 0 || f == TypeParam(1 / (1 - (long double)q))) << p;
    }
    const double sigma = std::sqrt(q * (1 - q) * double(factors.size()));
    EXPECT_NEAR(double(dropped), q * double(factors.size()), 4 * sigma) << p;
  }
}

}  // namespace
}  // namespace xgrad
