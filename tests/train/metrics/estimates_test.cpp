
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numeric>

#include <xgrad/train/metrics/metrics.hpp>

#include "support/tensors.hpp"
#include "train/metrics/figures.hpp"

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
  EXPECT_TRUE(std::isnan(mean.standard_error()));
}

// R^2 without targets, and with equal targets, whose variance is 0.
TEST(RSquared, OfNothingAndOfEqualTargets) {
  RSquared r2;
  EXPECT_TRUE(std::isnan(r2.value()));
  r2.begin_sample(1);
  r2.add(0, 1, 5);
  r2.begin_sample(1);
  r2.add(0, 2, 5);
  EXPECT_TRUE(std::isnan(r2.value()));
  EXPECT_TRUE(std::isnan(r2.standard_error()));
}

TEST(RSquared, TwoByHand) {
  RSquared r2;  // targets 1 and 3, mean 2; predictions 1 and 2: 1 - 1/2
  r2.begin_sample(1);
  r2.add(0, 1, 1);
  r2.begin_sample(1);
  r2.add(0, 2, 3);
  EXPECT_DOUBLE_EQ(r2.value(), 0.5);
  // Residuals 0 - 1/2 1 and 1 - 1/2 1: sqrt(2/1 (1/4 + 1/4)) / 2.
  EXPECT_DOUBLE_EQ(r2.standard_error(), 0.5);
}

// Over many draws of a data set the deviation of a figure is what its standard error says.
template <class Draw>
void expect_standard_error(const Draw& draw) {
  double sum = 0, squares = 0, errors = 0;
  constexpr int kDraws = 1000;
  for (int i = 0; i < kDraws; ++i) {
    const Figure figure = draw(Rng(99) / std::uint64_t(i));
    sum += figure.value;
    squares += figure.value * figure.value;
    errors += figure.standard_error;
  }
  const double mean = sum / kDraws, deviation = std::sqrt(squares / kDraws - mean * mean);
  EXPECT_NEAR(errors / kDraws / deviation, 1, 0.12);  // 4 deviations of a deviation, and bias
}

TEST(StandardErrors, OfR2AreThoseOfRepeatedDraws) {
  expect_standard_error([](const Rng& rng) {
    Metrics metrics;
    Batch batch = test::batch_of(test::normal_tensor({200, 3}, rng / "y"));
    const Tensor<double> noise = test::normal_tensor({200, 3}, rng / "noise");
    Tensor<double> outputs = cast<double>(batch.values);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      outputs.data()[i] += noise.data()[i / 3 * 3] * 0.7;  // one error for all three of a sample
    }
    metrics.add(outputs, batch, {Loss::mse});
    return test::figure(metrics, "r2");
  });
}

TEST(StandardErrors, OfMacroF1AreThoseOfRepeatedDraws) {
  expect_standard_error([](const Rng& rng) {
    ClassReport report(3);
    const Ids targets = test::random_ids({150, 2}, rng / "targets", 3);
    Tensor<double> logits = test::normal_tensor({150, 2, 3}, rng / "logits");
    for (std::size_t i = 0; i < targets.size(); ++i) {
      logits.data()[i * 3 + std::size_t(targets.data()[i])] += 1 - 0.3 * targets.data()[i];
    }
    report.add(logits, targets);
    return report.macro_f1();
  });
}

// The targets 0 and 1 about any offset have the variance 1/4; an error of 1/4 each leaves 3/4.
TEST(RSquared, AnOffsetChangesNothing) {
  for (const double offset : {0.0, 1e8, -1e8}) {
    RSquared r2;
    for (const double target : {0.0, 1.0}) {
      r2.begin_sample(1);
      r2.add(0, offset + target + 0.25, offset + target);
    }
    EXPECT_NEAR(r2.value(), 0.75, 1e-12) << offset;
  }
}

// Samples of pairs of a prediction and a target for two components. The parts have other first
// targets, and the second part has none of the second component.
TEST(RSquared, OfPartsIsThatOfTheWhole) {
  using Pairs = std::vector<std::pair<double, double>>;
  using Sample = std::array<Pairs, 2>;
  const std::vector<std::vector<Sample>> parts = {
      {{Pairs{{11, 10}, {9, 12}}, {{3, 2}}}, {Pairs{{12, 14}}, {{5, 7}, {1, 2}}}},
      {{Pairs{{7, 5}, {6, 8}, {1, 2}}, {}}},
      {{Pairs{{31, 30}, {29, 35}}, {{8, 9}}}, {Pairs{{20, 24}}, {{4, 4}, {6, 1}}}}};
  RSquared merged;
  double errors = 0, squares = 0;
  std::vector<double> targets[2];
  for (const std::vector<Sample>& part : parts) {
    RSquared own;
    for (const Sample& sample : part) {
      own.begin_sample(2);
      for (const std::size_t c : {0, 1}) {
        for (const auto& [prediction, target] : sample[c]) {
          own.add(c, prediction, target);
          targets[c].push_back(target);
          errors += (target - prediction) * (target - prediction);
        }
      }
    }
    merged.add(own);
  }
  for (const std::vector<double>& all : targets) {
    const double mean = std::accumulate(all.begin(), all.end(), 0.0) / double(all.size());
    for (const double target : all) squares += (target - mean) * (target - mean);
  }
  EXPECT_NEAR(merged.value(), 1 - errors / squares, 1e-12);
}

TEST(RSquared, AComponentThatIsNeverKnownCountsNothing) {
  RSquared r2;
  for (const double target : {0.0, 1.0}) {
    r2.begin_sample(2);
    r2.add(0, target + 0.25, target);
  }
  EXPECT_NEAR(r2.value(), 0.75, 1e-12);
}

}  // namespace
}  // namespace xgrad
