#include <xgrad/optim/schedule.hpp>

#include <gtest/gtest.h>

#include "golden.hpp"

namespace xgrad {
namespace {

TEST(Plateau, AsTorch) {
  Plateau plateau(0.3, 3, 0.04);
  const auto& expected = test::golden().at("plateau");
  ASSERT_EQ(expected.size(), 40u);
  EXPECT_NE(expected.front(), expected.back());
  for (int e = 0; e < 40; ++e) {
    plateau.observe(5.0 / (1 + std::min(e, 16) / 4) +
                    (e % 2 ? 0.0001 * (e % 3) : -0.00005 * (e % 5)));
    const auto at = std::size_t(e);
    EXPECT_NEAR(0.002 * plateau.factor(), expected[at], 1e-15) << e;
    Plateau resumed(0.3, 3, 0.04);
    resumed.state() = plateau.state();
    plateau = resumed;
  }
}

}  // namespace
}  // namespace xgrad
