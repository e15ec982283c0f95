#include <xgrad/train/metrics.hpp>

#include <gtest/gtest.h>

#include <cmath>

#include <xgrad/data/batch.hpp>
#include <xgrad/train/class_report.hpp>

#include "support/golden.hpp"
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

// The value that a report gives under a name.
Figure figure(const Metrics& metrics, const std::string& name) {
  for (const Figure& each : metrics.figures()) {
    if (each.name == name) return each;
  }
  ADD_FAILURE() << "no " << name;
  return {};
}

const test::Golden& golden() {
  static const test::Golden file("metrics.txt");
  return file;
}

// The golden numbers are scikit-learn's.
TEST(Metrics, S4_5_OfClasses) {
  Metrics metrics;
  metrics.add(golden()("classes.logits"), golden().ids("classes.targets"));
  EXPECT_NEAR(figure(metrics, "loss").value, golden()("classes.loss")(), 1e-14);
  EXPECT_NEAR(figure(metrics, "accuracy").value, golden()("classes.accuracy")(), 1e-15);
  const Figure loss = figure(metrics, "loss"), perplexity = figure(metrics, "perplexity");
  EXPECT_DOUBLE_EQ(perplexity.value, std::exp(loss.value));
  EXPECT_DOUBLE_EQ(perplexity.standard_error, std::exp(loss.value) * loss.standard_error);
}

TEST(Metrics, S4_5_OfEachClass) {
  ClassReport report(4);
  report.add(golden()("classes.logits"), golden().ids("classes.targets"));
  for (std::size_t c = 0; c < 4; ++c) {
    for (std::size_t g = 0; g < 4; ++g) {
      EXPECT_EQ(double(report.confusion(c, g)), golden()("classes.confusion")(c, g));
    }
    EXPECT_NEAR(report.precision(c).mean(), golden()("classes.precision")(c), 1e-15) << c;
    EXPECT_NEAR(report.recall(c).mean(), golden()("classes.recall")(c), 1e-15) << c;
    EXPECT_NEAR(report.f1(c).mean(), golden()("classes.f1")(c), 1e-15) << c;
  }
  EXPECT_NEAR(report.macro_f1().value, golden()("classes.macro_f1")(), 1e-15);
}

Batch batch_of(const Tensor<double>& values) {
  Batch batch;
  batch.size = values.shape()[0];
  batch.values = cast<float>(values);
  return batch;
}

TEST(Metrics, S4_8_OfNumbers) {
  Metrics metrics;
  const Batch batch = batch_of(golden()("numbers.targets"));
  metrics.add(golden()("numbers.outputs"), batch, {Loss::mse});
  // The targets are floats near 1000, the golden numbers those of doubles.
  EXPECT_NEAR(figure(metrics, "loss").value, golden()("numbers.mse")(), 1e-4);
  EXPECT_NEAR(figure(metrics, "rmse").value, std::sqrt(golden()("numbers.mse")()), 1e-4);
  EXPECT_NEAR(figure(metrics, "mae").value, golden()("numbers.mae")(), 1e-4);
  EXPECT_NEAR(figure(metrics, "r2").value, golden()("numbers.r2")(), 1e-5);
}

TEST(Metrics, S4_8_OfBinaryTargets) {
  Metrics metrics;
  metrics.add(golden()("binary.logits"), batch_of(golden()("binary.answers")),
              {Loss::binary_cross_entropy});
  EXPECT_NEAR(figure(metrics, "loss").value, golden()("binary.loss")(), 1e-14);
  EXPECT_NEAR(figure(metrics, "accuracy").value, golden()("binary.accuracy")(), 1e-15);
  EXPECT_NEAR(figure(metrics, "exact_match").value, golden()("binary.exact")(), 1e-15);
}

TEST(Metrics, OfEachAnswer) {
  ClassReport report(3);
  report.add_answers(golden()("binary.logits"), batch_of(golden()("binary.answers")));
  for (std::size_t c = 0; c < 3; ++c) {
    EXPECT_NEAR(report.precision(c).mean(), golden()("binary.precision")(c), 1e-15) << c;
    EXPECT_NEAR(report.recall(c).mean(), golden()("binary.recall")(c), 1e-15) << c;
    EXPECT_NEAR(report.f1(c).mean(), golden()("binary.f1")(c), 1e-15) << c;
  }
  EXPECT_NEAR(report.macro_f1().value, golden()("binary.macro_f1")(), 1e-15);
  EXPECT_FALSE(report.has_confusion());
}

TEST(Metrics, AnswersThatAreNotKnownCountNothing) {
  Batch batch = batch_of(test::tensor<double>({2, 2}, {1, 1, 0, 1}));
  batch.valid = std::make_shared<const Mask>(test::tensor<std::uint8_t>({2, 2}, {1, 0, 1, 1}));
  ClassReport report(2);
  report.add_answers(test::tensor<double>({2, 2}, {3, -3, 2, -1}), batch);
  EXPECT_EQ(report.precision(0).mean(), 0.5);
  EXPECT_EQ(report.recall(1).count(), 1);
}

// The loss that is measured is the one that is trained.
TEST(Metrics, S4_8_TheLossIsThatOfTheObjective) {
  const Tensor<double> outputs = test::random_tensor({7, 3}, Rng(1), -2, 2);
  Batch batch = batch_of(test::random_tensor({7, 3}, Rng(2), 0, 1));
  Mask valid = test::random_mask({7, 3}, Rng(3));
  batch.valid = std::make_shared<const Mask>(valid);
  for (const Loss loss : {Loss::binary_cross_entropy, Loss::mse, Loss::mae, Loss::huber}) {
    const Objective objective{loss, 0, 0.6};
    Metrics metrics;
    metrics.add(outputs, batch, objective);
    const auto trained = mean_loss(objective, Variable<double>(outputs), batch);
    EXPECT_NEAR(metrics.loss.mean(), trained.value()(), 1e-15) << int(loss);
    EXPECT_EQ(metrics.loss.count(), double(count_targets(batch)));
  }
}

// What a number of equal targets tells of R^2, and what it does where there is nothing to explain.
TEST(RSquared, OfNothingAndOfEqualTargets) {
  RSquared r2;
  EXPECT_EQ(r2.value(), 0);
  r2.begin_sample(1);
  r2.add(0, 1, 5);
  r2.begin_sample(1);
  r2.add(0, 2, 5);
  EXPECT_EQ(r2.value(), 0);
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
    Batch batch = batch_of(test::normal_tensor({200, 3}, rng / "y"));
    const Tensor<double> noise = test::normal_tensor({200, 3}, rng / "noise");
    Tensor<double> outputs = cast<double>(batch.values);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      outputs.data()[i] += noise.data()[i / 3 * 3] * 0.7;  // one error for all three of a sample
    }
    metrics.add(outputs, batch, {Loss::mse});
    return figure(metrics, "r2");
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
  Batch batch;
  batch.targets = test::tensor<std::int32_t>({3}, {1, kIgnore, 0});
  EXPECT_EQ(count_targets(batch), 2u);
}

}  // namespace
}  // namespace xgrad
