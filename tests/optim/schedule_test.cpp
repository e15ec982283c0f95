#include <gtest/gtest.h>

#include <xgrad/autograd/check.hpp>
#include <xgrad/optim/schedule.hpp>

#include "golden.hpp"

namespace xgrad {
namespace {

// LinearLR for the warm-up, then LinearLR, CosineAnnealingLR or nothing.
TEST(Schedule, AsTorch) {
  for (const std::string name : {"constant", "linear", "cosine"}) {
    const Schedule schedule(Schedule::shape(name), 0.002, 40, 7, name == "constant" ? 1.0 : 0.1);
    const auto& expected = test::golden().at(name);
    ASSERT_EQ(expected.size(), 40u);
    for (std::size_t s = 0; s < 40; ++s) {
      EXPECT_NEAR(schedule(s), expected[s], 1e-12 * expected[s]) << name << " " << s;
    }
  }
}

TEST(Schedule, Ends) {
  for (const auto shape :
       {Schedule::Shape::constant, Schedule::Shape::linear, Schedule::Shape::cosine}) {
    const Schedule schedule(shape, 0.5, 100, 10, 0.2);
    EXPECT_EQ(schedule(0), 0.5 * (1.0 / 11));
    EXPECT_EQ(schedule(10), 0.5);
    const bool constant = shape == Schedule::Shape::constant;
    EXPECT_EQ(schedule(100), constant ? 0.5 : 0.1);
    EXPECT_EQ(schedule(1000000), constant ? 0.5 : 0.1);
    for (std::uint64_t s = 11; s < 100; ++s) EXPECT_LE(schedule(s), schedule(s - 1)) << s;
  }
}

TEST(Schedule, AllWarmUpAndNone) {
  const Schedule all(Schedule::Shape::cosine, 1.0, 4, 4, 0.0);
  EXPECT_EQ(all(3), 0.8);
  const Schedule none(Schedule::Shape::linear, 1.0, 4, 0, 0.0);
  EXPECT_EQ(none(0), 1.0);
  EXPECT_EQ(none(3), 0.25);
  EXPECT_THROW(Schedule(Schedule::Shape::cosine, 1.0, 4, 5, 0.0), ConfigError);
  EXPECT_THROW(Schedule::shape("cosinus"), ConfigError);
}

}  // namespace
}  // namespace xgrad
