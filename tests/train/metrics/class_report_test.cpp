#include <xgrad/train/metrics/class_report.hpp>

#include <gtest/gtest.h>

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
  report.add_answers(golden()("binary.logits"), batch_of(golden()("binary.answers")));
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
  report.add_answers(test::tensor<double>({2, 2}, {3, -3, 2, -1}), batch);
  EXPECT_EQ(report.precision(0).mean(), 0.5);
  EXPECT_EQ(report.recall(1).count(), 1);
}

}  // namespace
}  // namespace xgrad
