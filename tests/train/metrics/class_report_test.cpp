#include <xgrad/train/metrics/class_report.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <xtensor/xview.hpp>

#include "support/golden.hpp"
#include "support/tensors.hpp"
#include "train/metrics/figures.hpp"

namespace xgrad {
namespace {

using test::batch_of;

// The golden numbers are scikit-learn's.
const test::Golden& golden() {
  static const test::Golden file("metrics.txt");
  return file;
}

TEST(ClassReport, S4_5_OfEachClass) {
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

TEST(ClassReport, OfEachAnswer) {
  ClassReport report(3);
  report.add(golden()("binary.logits"), batch_of(golden()("binary.answers")));
  for (std::size_t c = 0; c < 3; ++c) {
    EXPECT_NEAR(report.precision(c).mean(), golden()("binary.precision")(c), 1e-15) << c;
    EXPECT_NEAR(report.recall(c).mean(), golden()("binary.recall")(c), 1e-15) << c;
    EXPECT_NEAR(report.f1(c).mean(), golden()("binary.f1")(c), 1e-15) << c;
  }
  EXPECT_NEAR(report.macro_f1().value, golden()("binary.macro_f1")(), 1e-15);
  EXPECT_FALSE(report.has_confusion());
}

TEST(ClassReport, AnswersThatAreNotKnownCountNothing) {
  Batch batch = batch_of(test::tensor<double>({2, 2}, {1, 1, 0, 1}));
  batch.valid = std::make_shared<const Mask>(test::tensor<std::uint8_t>({2, 2}, {1, 0, 1, 1}));
  ClassReport report(2);
  report.add(test::tensor<double>({2, 2}, {3, -3, 2, -1}), batch);
  EXPECT_EQ(report.precision(0).mean(), 0.5);
  EXPECT_EQ(report.recall(1).count(), 1);
}

// One sample with answers for one class.
Tensor<double> sample(const std::vector<double>& values) {
  Tensor<double> x = empty<double>({1, values.size(), 1});
  std::copy(values.begin(), values.end(), x.data());
  return x;
}

// One class; each sample is {outputs, targets} of its answers.
ClassReport report_of(const std::vector<std::pair<std::vector<double>, std::vector<double>>>& all) {
  ClassReport report(1);
  for (const auto& [outputs, targets] : all) {
    report.add(sample(outputs), batch_of(sample(targets)));
  }
  return report;
}

// A ratio's standard error is sqrt(S / (S - 1) sum (x - r n)^2) / sum n over the S samples in which
// the denominator counts something.
TEST(ClassReport, OnlySamplesWithTheClassCount) {
  // Guesses and targets that agree: 1 of 1, then a wrong guess, then nothing.
  const ClassReport report = report_of({{{1}, {1}}, {{1}, {0}}, {{-1}, {0}}});
  EXPECT_EQ(report.precision(0).mean(), 0.5);
  EXPECT_NEAR(report.precision(0).standard_error(), std::sqrt(2 * 0.5) / 2, 1e-15);
  EXPECT_NEAR(report.f1(0).mean(), 2.0 / 3, 1e-15);
  const double f1_error = std::sqrt(2 * 2 * 4.0 / 9) / 3;  // 2 - 2/3 * 2 = 2/3 = -(0 - 2/3)
  EXPECT_NEAR(report.f1(0).standard_error(), f1_error, 1e-15);
  EXPECT_NEAR(report.macro_f1().standard_error, f1_error, 1e-15);
  // A target that was not guessed has no part in the precision.
  const ClassReport missed = report_of({{{1}, {1}}, {{1}, {0}}, {{-1}, {1}}});
  EXPECT_NEAR(missed.precision(0).standard_error(), std::sqrt(2 * 0.5) / 2, 1e-15);
  // Nor has a guess without a target in the recall.
  EXPECT_EQ(missed.recall(0).mean(), 0.5);
  EXPECT_NEAR(missed.recall(0).standard_error(), std::sqrt(2 * 0.5) / 2, 1e-15);
}

TEST(ClassReport, AnOutputOfZeroIsNo) {
  const ClassReport report = report_of({{{0, 1}, {0, 1}}});
  EXPECT_EQ(report.precision(0).count(), 1);
  EXPECT_EQ(report.precision(0).mean(), 1);
}

TEST(ClassReport, ClassesThatOccurMakeTheMacroF1) {
  // Class 0 is right, class 1 was one target that nobody guessed, class 2 was guessed for it, and
  // class 3 does not occur.
  ClassReport report(4);
  report.add(test::tensor<double>({1, 2, 4}, {1, 0, 0, 0, 0, 0, 1, 0}),
             test::tensor<std::int32_t>({1, 2}, {0, 1}));
  EXPECT_NEAR(report.macro_f1().value, 1.0 / 3, 1e-15);
  EXPECT_TRUE(std::isnan(report.macro_f1().standard_error));  // of one sample
}

// As if all samples had been added to one report, and the same after a way as numbers.
TEST(ClassReport, AddsUpParts) {
  const auto logits = [](std::size_t begin, std::size_t end) {
    return Tensor<double>(xt::view(golden()("classes.logits"), xt::range(begin, end)));
  };
  const auto targets = [](std::size_t begin, std::size_t end) {
    return Ids(xt::view(golden().ids("classes.targets"), xt::range(begin, end)));
  };
  const std::size_t samples = golden()("classes.logits").shape()[0];
  std::vector<double> numbers;
  for (const auto& [begin, end] :
       {std::pair<std::size_t, std::size_t>{0, 2}, {2, 2}, {2, samples}}) {
    ClassReport part(4);
    if (begin < end) part.add(logits(begin, end), targets(begin, end));
    const std::vector<double> more = to_numbers(part);
    numbers.insert(numbers.end(), more.begin(), more.end());
  }
  ClassReport sum(4);
  for (std::size_t at = 0; at < numbers.size();) sum.add(from_numbers<ClassReport>(numbers, at));
  for (std::size_t c = 0; c < 4; ++c) {
    EXPECT_NEAR(sum.f1(c).mean(), golden()("classes.f1")(c), 1e-15) << c;
    EXPECT_NEAR(sum.precision(c).mean(), golden()("classes.precision")(c), 1e-15) << c;
    EXPECT_NEAR(sum.recall(c).mean(), golden()("classes.recall")(c), 1e-15) << c;
    for (std::size_t g = 0; g < 4; ++g) {
      EXPECT_EQ(double(sum.confusion(c, g)), golden()("classes.confusion")(c, g));
    }
  }
  ClassReport whole(4);
  whole.add(golden()("classes.logits"), golden().ids("classes.targets"));
  EXPECT_NEAR(sum.macro_f1().standard_error, whole.macro_f1().standard_error, 1e-15);
}

TEST(ClassReport, OfNothing) {
  ClassReport report(2);
  report.add(empty<double>({0, 3, 2}), Ids(Shape{0, 3}));
  EXPECT_EQ(report.macro_f1().value, 0);
  EXPECT_TRUE(std::isnan(report.macro_f1().standard_error));
  EXPECT_EQ(report.confusion(1, 1), 0u);
}

}  // namespace
}  // namespace xgrad
