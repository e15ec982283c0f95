#include <xgrad/optim/clip.hpp>

#include <gtest/gtest.h>

#include <cmath>

namespace xgrad {
namespace {

SpikeGuard after(double factor, int norms) {
  SpikeGuard guard(factor);
  for (int i = 0; i < norms; ++i) guard.observe(2);
  return guard;
}

// A spike is more than the factor times the mean; there is none before the 21st norm.
TEST(SpikeGuard, JudgesFromTwentyNormsOn) {
  EXPECT_FALSE(after(3, 19).is_spike(1e30));
  EXPECT_TRUE(after(3, 20).is_spike(6.001));
  EXPECT_FALSE(after(3, 20).is_spike(5.999));
}

TEST(SpikeGuard, MeanMovesByAFiftieth) {
  SpikeGuard guard(3);
  guard.observe(10);
  EXPECT_EQ(guard.state().mean, 10);
  guard.observe(60);
  EXPECT_NEAR(guard.state().mean, 11, 1e-14);  // 10 + (60 - 10) / 50
  EXPECT_EQ(guard.state().count, 2u);
}

TEST(SpikeGuard, WithFactorZeroNothingIsASpike) {
  const SpikeGuard guard = after(0, 100);
  EXPECT_FALSE(guard.watches());
  EXPECT_FALSE(guard.is_spike(1e30));
}

TEST(SpikeGuard, GoesOnFromItsState) {
  SpikeGuard guard = after(3, 19), again(3);
  again.state() = guard.state();
  for (SpikeGuard* each : {&guard, &again}) each->observe(4);
  EXPECT_EQ(again.state().mean, guard.state().mean);
  EXPECT_TRUE(again.is_spike(6.2));
}

TEST(SpikeGuard, ANormOfJustTheFactorIsNone) {
  SpikeGuard guard(/*factor=*/2);
  for (int i = 0; i < 30; ++i) guard.observe(1);
  EXPECT_FALSE(guard.is_spike(2));
  EXPECT_TRUE(guard.is_spike(std::nextafter(2.0, 3.0)));
}

}  // namespace
}  // namespace xgrad
