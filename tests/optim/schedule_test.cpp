#include <gtest/gtest.h>

#include <xgrad/autograd/check.hpp>
#include <xgrad/optim/schedule.hpp>

#include "golden.hpp"
#include "support/gradients.hpp"

namespace xgrad {
namespace {

using Shape = Schedule::Shape;

// LinearLR for the warm-up, then LinearLR, CosineAnnealingLR, PolynomialLR, StepLR or nothing; and
// OneCycleLR.
TEST(Schedule, AsTorch) {
  const std::map<std::string, ScheduleOptions> cases = {
      {"constant", {}},
      {"linear", {.final = 0.1}},
      {"cosine", {.final = 0.1}},
      {"polynomial", {.power = 2.5}},
      {"step", {.every = 6, .gamma = 0.3}},
      {"one_cycle", {.final = 0.001, .div = 20}},
  };
  for (const auto& [name, settings] : cases) {
    const Schedule schedule(Schedule::shape(name), 0.002, 40, 7, settings);
    const auto& expected = test::golden().at(name);
    ASSERT_EQ(expected.size(), 40u);
    for (std::size_t s = 0; s < 40; ++s) {
      EXPECT_NEAR(schedule(s), expected[s], 1e-12 * expected[s]) << name << " " << s;
    }
  }
}

// Noam: the published formula, lr d^(-1/2) min(s^(-1/2), s w^(-3/2)) with s, w from 1, up to its
// factor.
TEST(Schedule, NoamAsPublished) {
  const Schedule schedule(Shape::noam, 0.5, 1000, 99, {});
  for (const double s : {1.0, 2.0, 50.0, 99.0, 100.0, 101.0, 400.0, 999.0, 5000.0}) {
    const double expected = 0.5 * std::sqrt(100.0) * std::min(1 / std::sqrt(s), s / 1000.0);
    EXPECT_NEAR(schedule(std::uint64_t(s) - 1), expected, 1e-15) << s;
  }
}

// Warm-up to 10, stable to 82, then a line to a tenth at 100.
TEST(Schedule, WarmUpStableDecay) {
  const Schedule schedule(Shape::wsd, 2.0, 100, 10, {.final = 0.1, .decay = 0.2});
  EXPECT_DOUBLE_EQ(schedule(4), 2.0 * 5 / 11);
  for (const std::uint64_t s : {10, 11, 50, 81, 82}) EXPECT_DOUBLE_EQ(schedule(s), 2.0) << s;
  EXPECT_NEAR(schedule(91), 2.0 * 0.55, 1e-14);
  EXPECT_NEAR(schedule(99), 2.0 * (1 - 0.9 * 17 / 18), 1e-14);
  EXPECT_EQ(schedule(100), 0.2);
}

TEST(Schedule, Ends) {
  for (const Shape shape :
       {Shape::constant, Shape::linear, Shape::cosine, Shape::polynomial, Shape::wsd}) {
    const Schedule schedule(shape, 0.5, 100, 10, {.final = 0.2});
    EXPECT_EQ(schedule(0), 0.5 * (1.0 / 11));
    EXPECT_EQ(schedule(10), 0.5);
    const bool constant = shape == Shape::constant;
    EXPECT_EQ(schedule(100), constant ? 0.5 : 0.1);
    EXPECT_EQ(schedule(1000000), constant ? 0.5 : 0.1);
    for (std::uint64_t s = 11; s < 100; ++s) EXPECT_LE(schedule(s), schedule(s - 1)) << s;
  }
}

TEST(Schedule, AllWarmUpAndNone) {
  const Schedule all(Shape::cosine, 1.0, 4, 4, {});
  EXPECT_EQ(all(3), 0.8);
  const Schedule none(Shape::linear, 1.0, 4, 0, {});
  EXPECT_EQ(none(0), 1.0);
  EXPECT_EQ(none(3), 0.25);
  const Schedule all_of_a_cycle(Shape::one_cycle, 1.0, 4, 4, {.final = 0.5, .div = 10});
  EXPECT_DOUBLE_EQ(all_of_a_cycle(0), 0.1);
  EXPECT_EQ(all_of_a_cycle(4), 0.5);
  const Schedule all_but_the_last(Shape::one_cycle, 1.0, 4, 3, {.final = 0.5, .div = 10});
  EXPECT_EQ(all_but_the_last(3), 0.5);
  EXPECT_EQ(Schedule(Shape::step, 1.0, 4, 1, {.every = 1, .gamma = 0.5})(3), 0.25);
  EXPECT_THROW(Schedule(Shape::cosine, 1.0, 4, 5, {}), ConfigError);
  EXPECT_THROW(Schedule(Shape::step, 1.0, 4, 1, {}), ConfigError);
  EXPECT_THROW(Schedule::shape("cosinus"), ConfigError);
}

TEST(Schedule, EveryNameHasItsShape) {
  const auto names = schedule_names();
  ASSERT_EQ(names.size(), 9u);
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(Schedule::shape(names[i]), Shape(int(i))) << names[i];
  }
}

TEST(Schedule, AnUnknownNameGetsAList) {
  EXPECT_TRUE(test::throws_with<ConfigError>(
      [] { Schedule::shape("liner"); },
      "there is no schedule 'liner'; there are constant, linear, cosine, polynomial, step, noam, "
      "wsd, one_cycle, plateau"));
}

TEST(Schedule, AfterARunOfNothingButWarmUp) {
  const Schedule schedule(Schedule::Shape::linear, 1, /*steps=*/5, /*warmup=*/5, {.final = 0.25});
  EXPECT_EQ(schedule(4), 5.0 / 6);
  EXPECT_EQ(schedule(5), 0.25);
}

}  // namespace
}  // namespace xgrad
