#include <xgrad/train/metrics/metrics.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <xtensor/xview.hpp>

#include <xgrad/data/batch.hpp>

#include "support/golden.hpp"
#include "support/tensors.hpp"
#include "train/metrics/figures.hpp"

namespace xgrad {
namespace {

using test::batch_of;
using test::figure;

TEST(Metrics, S4_8_CrossEntropyOfTheExample) {
  Metrics metrics;
  const Ids target = test::tensor<std::int32_t>({1}, {2});
  metrics.add(test::tensor<double>({1, 3}, {1, 2, 3}), target);
  EXPECT_NEAR(metrics.loss.mean(), 0.4076059644443806, 1e-15);
  EXPECT_EQ(metrics.accuracy.mean(), 1);
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

// Bits are nats over ln 2, and pass through sums over ranks; other tasks have none.
TEST(Metrics, OfLanguageModelsInBits) {
  Batch batch;
  batch.targets = golden().ids("classes.targets");
  for (const auto& [next, name] : {std::pair(NextToken::character, "bits_per_character"),
                                   {NextToken::word, "bits_per_word"}}) {
    Metrics part;
    part.add(golden()("classes.logits"), batch, {.next = next});
    const std::vector<double> numbers = to_numbers(part);
    std::size_t at = 0;
    Metrics metrics;
    metrics.add(from_numbers<Metrics>(numbers, at));
    EXPECT_EQ(at, numbers.size());
    const Figure loss = figure(metrics, "loss"), bits = figure(metrics, name);
    EXPECT_DOUBLE_EQ(std::exp2(bits.value), std::exp(loss.value));
    EXPECT_DOUBLE_EQ(bits.standard_error / bits.value, loss.standard_error / loss.value);
  }
  Metrics other;
  other.add(golden()("classes.logits"), batch, {});
  for (const Figure& each : other.figures()) EXPECT_FALSE(each.name.starts_with("bits"));
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
    EXPECT_EQ(metrics.loss.count(), weight_of_targets(objective, batch));
  }
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

TEST(Metrics, IgnoredTargetsAreNotCounted) {
  Batch batch;
  batch.targets = test::tensor<std::int32_t>({3}, {1, kIgnore, 0});
  EXPECT_EQ(weight_of_targets({}, batch), 2);
}

TEST(Metrics, OfNothing) {
  Metrics metrics;
  metrics.add(empty<double>({0, 3, 2}), Ids(Shape{0, 3}));
  EXPECT_EQ(test::figure(metrics, "accuracy").value, 0);
}

TEST(Metrics, AnOutputOfZeroIsNo) {
  Metrics metrics;
  metrics.add(test::tensor<double>({1, 3}, {0, 0, 0}),
              test::batch_of(test::tensor<double>({1, 3}, {0, 1, 0})),
              {Loss::binary_cross_entropy});
  EXPECT_EQ(metrics.accuracy.mean(), 2.0 / 3);
}

// The second of three samples has no target that is known.
TEST(Metrics, SamplesWithoutTargetsCountNothing) {
  Batch batch = test::batch_of(test::tensor<double>({3, 1}, {1, 1, 0}));
  batch.valid = std::make_shared<const Mask>(test::tensor<std::uint8_t>({3, 1}, {1, 0, 1}));
  Metrics answers, numbers;
  const auto outputs = test::tensor<double>({3, 1}, {2, 2, 2});
  answers.add(outputs, batch, {Loss::binary_cross_entropy});
  EXPECT_EQ(answers.exact.count(), 2);
  EXPECT_EQ(answers.exact.mean(), 0.5);
  EXPECT_NEAR(answers.accuracy.standard_error(), 0.5, 1e-15);  // of 1 and 0
  numbers.add(outputs, batch, {Loss::mse});
  EXPECT_EQ(numbers.absolute.mean(), 1.5);
  EXPECT_NEAR(numbers.absolute.standard_error(), 0.5, 1e-15);  // of 1 and 2
}

TEST(Metrics, KnowWhetherHigherIsBetter) {
  std::map<std::string, bool> higher;
  for (const TargetKind target : {TargetKind::classes, TargetKind::numbers}) {
    for (const NextToken next : {NextToken::character, NextToken::word}) {
      const Metrics metrics{.target = target, .next = next};
      for (const Figure& each : metrics.figures()) higher[each.name] = each.higher_is_better;
    }
  }
  EXPECT_EQ(higher, (std::map<std::string, bool>{{"accuracy", true},
                                                 {"bits_per_character", false},
                                                 {"bits_per_word", false},
                                                 {"exact_match", true},
                                                 {"loss", false},
                                                 {"mae", false},
                                                 {"perplexity", false},
                                                 {"r2", true},
                                                 {"rmse", false}}));
  EXPECT_TRUE(ClassReport(2).macro_f1().higher_is_better);
}

TEST(Metrics, OfPartsHaveTheKindOfThosePartsThatHaveTargets) {
  Metrics whole, numbers, words;
  numbers.add(test::tensor<double>({1, 1}, {1}), test::batch_of(test::tensor<double>({1, 1}, {1})),
              {Loss::mse});
  whole.add(numbers);
  whole.add(Metrics());
  EXPECT_EQ(whole.target, TargetKind::numbers);
  Batch batch;
  batch.targets = test::tensor<std::int32_t>({1}, {1});
  words.add(test::tensor<double>({1, 2}, {1, 3}), batch, {.next = NextToken::word});
  whole.add(words);
  whole.add(Metrics());
  EXPECT_EQ(whole.target, TargetKind::classes);
  EXPECT_EQ(whole.next, NextToken::word);
}

// A single example has no standard error, and a single number does not vary.
TEST(Metrics, OfOneExampleHaveNoStandardErrors) {
  Metrics numbers, classes;
  numbers.add(test::tensor<double>({1, 1}, {1}), test::batch_of(test::tensor<double>({1, 1}, {1})),
              {Loss::mse});
  classes.add(test::tensor<double>({1, 2}, {1, 3}), test::tensor<std::int32_t>({1}, {1}));
  for (const Metrics& metrics : {numbers, classes}) {
    for (const Figure& figure : metrics.figures()) {
      EXPECT_TRUE(std::isnan(figure.standard_error)) << figure.name;
    }
  }
  EXPECT_TRUE(std::isnan(test::figure(numbers, "r2").value));
}

TEST(Metrics, AFigureIsPrintedWithTheStandardErrorThatItHas) {
  EXPECT_EQ(figure_text(0.25, 0.125), "0.2500 ± 0.1250");
  Metrics metrics;  // of one example whose perplexity is beyond double
  metrics.add(test::tensor<double>({1, 2}, {2000, 0}), test::tensor<std::int32_t>({1}, {1}));
  const Figure accuracy = figure(metrics, "accuracy"), perplexity = figure(metrics, "perplexity");
  EXPECT_EQ(figure_text(accuracy.value, accuracy.standard_error), "0.0000");
  EXPECT_EQ(figure_text(perplexity.value, perplexity.standard_error), "inf");
  metrics.add(test::tensor<double>({1, 2}, {2000, 0}), test::tensor<std::int32_t>({1}, {1}));
  EXPECT_EQ(figure(metrics, "loss").standard_error, 0);  // infinity times 0
  EXPECT_EQ(figure_text(perplexity.value, figure(metrics, "perplexity").standard_error), "inf");
}

TEST(Metrics, WithoutAnyErrorTheErrorOfTheErrorIsZero) {
  Metrics metrics;
  metrics.add(test::tensor<double>({2, 1}, {1, 3}),
              test::batch_of(test::tensor<double>({2, 1}, {1, 3})), {Loss::mse});
  EXPECT_EQ(test::figure(metrics, "rmse").value, 0);
  EXPECT_EQ(test::figure(metrics, "rmse").standard_error, 0);
}

// The targets lie near 1000, so sums that are not taken about a number near them would lose digits.
TEST(Metrics, OfPartsAddUpToThoseOfTheWhole) {
  const Tensor<double> outputs = golden()("numbers.outputs");
  const Batch whole = batch_of(golden()("numbers.targets"));
  Metrics expected, sum;
  expected.add(outputs, whole, {Loss::mse});
  std::vector<double> numbers;
  for (std::size_t i = 0; i < 3; ++i) {
    const Range rows = share(whole.size, i, 3);
    const std::size_t row = outputs.size() / whole.size;
    Shape shape = outputs.shape();
    shape[0] = rows.size();
    Tensor<double> part = empty<double>(shape);
    std::copy_n(outputs.data() + rows.begin * row, part.size(), part.data());
    const OutputKind kind = outputs.dimension() == 3 ? OutputKind::tokens : OutputKind::sequence;
    Metrics metrics;
    metrics.add(part, cut(whole, {i, 3}, kind), {Loss::mse});
    const std::vector<double> more = to_numbers(metrics);
    numbers.insert(numbers.end(), more.begin(), more.end());
  }
  for (std::size_t at = 0; at < numbers.size();) sum.add(from_numbers<Metrics>(numbers, at));
  const std::vector<Figure> all = expected.figures(), found = sum.figures();
  ASSERT_EQ(found.size(), all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(found[i].name, all[i].name);
    EXPECT_NEAR(found[i].value / all[i].value, 1, 1e-11) << all[i].name;
    EXPECT_NEAR(found[i].standard_error / all[i].standard_error, 1, 1e-9) << all[i].name;
  }
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

TEST(ClassReport, OfATargetForEachSequence) {
  ClassReport report(2);
  Batch batch;
  batch.size = 3;
  batch.targets = test::tensor<std::int32_t>({3}, {0, 1, 1});
  report.add(test::tensor<double>({3, 2}, {1, 0, 0, 1, 1, 0}), batch);
  EXPECT_NEAR(report.macro_f1().value, 2.0 / 3, 1e-15);  // 2 / 3 of each class
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
