#include <xgrad/train/metrics.hpp>

#include <gtest/gtest.h>

#include <cmath>

#include <xgrad/data/batch.hpp>

#include "support/tensors.hpp"

namespace xgrad {
namespace {

TEST(RatioMean, OfSamplesOfOneTargetIsTheMeanAndItsStandardError) {
  RatioMean mean;
  for (const double x : {1.0, 2.0, 4.0, 5.0}) mean.add(x, 1);
  EXPECT_DOUBLE_EQ(mean.mean(), 3.0);
  // Deviations -2, -1, 1, 2: variance 10/3, standard error sqrt(10/3 / 4).
  EXPECT_NEAR(mean.standard_error(), std::sqrt(10.0 / 12), 1e-15);
}

TEST(RatioMean, WeighsSamplesByTheirTargets) {
  RatioMean mean;
  mean.add(1, 2);
  mean.add(3, 4);
  EXPECT_DOUBLE_EQ(mean.mean(), 4.0 / 6);
  // r = 2/3: residuals 1 - 4/3 and 3 - 8/3, both 1/3 in size; sqrt(2/1 * 2/9) / 6.
  EXPECT_NEAR(mean.standard_error(), std::sqrt(4.0 / 9) / 6, 1e-15);
}

TEST(RatioMean, OfNothingAndOfOne) {
  RatioMean mean;
  EXPECT_EQ(mean.mean(), 0);
  mean.add(3, 2);
  EXPECT_EQ(mean.mean(), 1.5);
  EXPECT_EQ(mean.standard_error(), 0);
}

TEST(Metrics, S4_8_CrossEntropyOfTheExample) {
  Metrics metrics;
  const Ids target = test::tensor<std::int32_t>({1}, {2});
  metrics.add(test::tensor<double>({1, 3}, {1, 2, 3}), target);
  EXPECT_NEAR(metrics.loss.mean(), 0.4076059644443806, 1e-15);
  EXPECT_EQ(metrics.accuracy.mean(), 1);
}

TEST(Metrics, S4_5_IgnoredTargetsCountNothing) {
  Metrics metrics;
  const Tensor<float> logits = test::tensor<float>({2, 2, 2}, {5, 0, 5, 0, 0, 5, 0, 5});
  metrics.add(logits, test::tensor<std::int32_t>({2, 2}, {0, 1, kIgnore, 1}));
  EXPECT_EQ(metrics.accuracy.count(), 3);
  EXPECT_NEAR(metrics.accuracy.mean(), 2.0 / 3, 1e-15);
  EXPECT_EQ(metrics.exact.mean(), 0.5);  // the second sample is all right

  Metrics nothing;
  nothing.add(logits, test::tensor<std::int32_t>({2, 2}, {kIgnore, kIgnore, kIgnore, kIgnore}));
  EXPECT_EQ(nothing.loss.count(), 0);
  EXPECT_EQ(nothing.exact.count(), 0);
}

TEST(Metrics, LargeLogitsDoNotOverflow) {
  Metrics metrics;
  metrics.add(test::tensor<float>({1, 2}, {1e30f, -1e30f}), test::tensor<std::int32_t>({1}, {0}));
  EXPECT_EQ(metrics.loss.mean(), 0);
}

TEST(Metrics, ArgmaxTakesTheFirstOfEquals) {
  const Ids best = argmax(test::tensor<float>({2, 3}, {1, 3, 3, 0, 0, 0}));
  EXPECT_EQ(best.shape(), (Shape{2}));
  EXPECT_EQ(best(0), 1);
  EXPECT_EQ(best(1), 0);
  EXPECT_EQ(count_targets(test::tensor<std::int32_t>({3}, {1, kIgnore, 0})), 2u);
}

}  // namespace
}  // namespace xgrad
