// The table of results, and its interval against published quantiles.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include <xgrad/train/run/results.hpp>

namespace xgrad {
namespace {

Outcome outcome(double right, std::optional<Ceiling> ceiling = {}) {
  Outcome made;
  made.seconds = 2;
  made.result = {300, 1234, {}, ceiling};
  for (int i = 0; i < 2; ++i) {
    made.result.test.accuracy.add(10 * right, 10);
    made.result.test.loss.add(5, 10);
  }
  made.verdicts = {{"accuracy >= 0.9", "", right >= 0.9}};
  return made;
}

TEST(Results, TheIntervalIsStudents) {
  // 1, 2, 3: s = 1, t(0.975, 2) = 4.303, so 4.303 / sqrt(3).
  EXPECT_DOUBLE_EQ(student_interval({1, 2, 3}).mean, 2);
  EXPECT_NEAR(student_interval({1, 2, 3}).half_width, 2.4843, 1e-4);
  // t(0.975, 9) = 2.262, and s = sqrt(10 / 9) for five -1 and five 1.
  EXPECT_NEAR(student_interval({-1, 1, -1, 1, -1, 1, -1, 1, -1, 1}).half_width, 0.7540, 1e-4);
  EXPECT_EQ(student_interval({7}).half_width, 0);
}

// Student's density with n degrees of freedom, and its integral from 0 to t by Simpson's rule.
double density(double x, double n) {
  return std::exp(std::lgamma((n + 1) / 2) - std::lgamma(n / 2)) / std::sqrt(n * std::numbers::pi) *
         std::pow(1 + x * x / n, -(n + 1) / 2);
}

double above_zero(double t, double n) {
  constexpr int kSteps = 20000;
  double sum = 0;
  for (int i = 0; i <= kSteps; ++i) {
    const int weight = i == 0 || i == kSteps ? 1 : i % 2 == 1 ? 4 : 2;
    sum += weight * density(t * i / kSteps, n);
  }
  return sum * t / kSteps / 3;
}

// For every number of seeds, the distribution function at the quantile is 0.975. The quantiles are
// rounded to three decimals.
TEST(Results, TheIntervalHoldsNineteenOfTwenty) {
  std::vector<double> values = {-1};
  for (std::size_t n = 2; n <= kMostSeeds; ++n) {
    values.push_back(n % 2 == 0 ? 1 : -1);
    double mean = 0, squares = 0;
    for (const double value : values) mean += value / double(n);
    for (const double value : values) squares += (value - mean) * (value - mean);
    const double error = std::sqrt(squares / double(n - 1) / double(n));
    const double t = student_interval(values).half_width / error, freedom = double(n - 1);
    EXPECT_NEAR(above_zero(t, freedom), 0.475, 0.00051 * density(t, freedom)) << n << " seeds";
  }
}

TEST(Results, OneSeed) {
  ConfigResult result{"hmm", "", {outcome(0.95, Ceiling{0.96, 0.25})}, {0.25, 0.5, 0.75}};
  EXPECT_EQ(
      results_markdown({result}),
      "| config | accuracy | exact match | best | rule | loss | least | most frequent | token "
      "alone "
      "| window | parameters | steps | seconds | claims |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n"
      "| hmm | 0.9500 ± 0.0000 |  | 0.9600 |  | 0.5000 ± 0.0000 | 0.2500 | 0.2500 | 0.5000 | "
      "0.7500 "
      "| 1,234 | 300 | 2.0 | hold |\n");
}

TEST(Results, ExactMatchIsShownWhereAnExampleHasSeveralTargets) {
  ConfigResult result{"cmu", "", {outcome(0.95)}, {}};
  Result& made = result.outcomes[0].result;
  made.rules = {{"a guess", 0.5, 0.1}, {"by counting", 0.875, 0.5}};
  made.test.exact.add(20, 20);  // as many as targets
  EXPECT_NE(results_markdown({result}).find("| 0.9500 ± 0.0000 |  |  | 0.8750 |"),
            std::string::npos);
  made.test.exact = {};
  for (int i = 0; i < 2; ++i) made.test.exact.add(3, 5);
  EXPECT_NE(results_markdown({result}).find(
                "| 0.9500 ± 0.0000 | 0.6000 ± 0.0000 |  | 0.8750, 0.5000 exact |"),
            std::string::npos)
      << results_markdown({result});
}

TEST(Results, ColumnsOfTextAreAligned) {
  const ConfigResult good{"first", "", {outcome(0.95)}, {}}, bad{"copy", "", {outcome(0.5)}, {}};
  const std::string text = results_text({good, bad});
  std::vector<std::size_t> steps;
  for (std::size_t at = 0; (at = text.find("300", at)) != std::string::npos; ++at) {
    steps.push_back(at - text.rfind('\n', at));
  }
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0], steps[1]);
  EXPECT_TRUE(text.ends_with("  FAILED\n")) << text;
}

TEST(Results, ClaimsHoldForEverySeedOrNot) {
  const ConfigResult all{"a", "", {outcome(0.95), outcome(0.97)}, {}};
  const ConfigResult one{"b", "", {outcome(0.95), outcome(0.85)}, {}};
  EXPECT_TRUE(all.holds());
  EXPECT_FALSE(one.holds());
  EXPECT_NE(results_markdown({all}).find("| 0.9600 ± 0.1271 |"), std::string::npos);
  EXPECT_NE(results_markdown({one}).find("| hold for 1 of 2 seeds |"), std::string::npos);
}

TEST(Results, ARowIsReadBack) {
  const ConfigResult made{"a | b|", "step 7: \"the loss\"|is \\| nan", {outcome(0.95)}, {}};
  ConfigResult read;
  read.cells = parse_row(results_json({made}));
  EXPECT_EQ(read.cells.front(), "a | b|");
  EXPECT_EQ(read.cells.back(), "step 7: \"the loss\"|is \\| nan");
  for (const auto& format : {results_text, results_markdown, results_json}) {
    EXPECT_EQ(format({read}), format({made}));
  }
  EXPECT_TRUE(parse_row(results_json({})).empty());
  EXPECT_TRUE(parse_row("").empty());
}

TEST(Results, JsonHasAnArrayForEachRow) {
  const ConfigResult made{"a", "the file \xff is missing", {}, {}},
      other{"b", "", {outcome(1)}, {}};
  const std::string text = results_json({made, other});
  EXPECT_TRUE(text.starts_with("[\"config\",\"accuracy\",")) << text;
  EXPECT_NE(text.find("\n[\"a\",\"\","), std::string::npos) << text;
  EXPECT_NE(text.find(",\"the file \uFFFD is missing\"]\n[\"b\",\"1.0000 ± 0.0000\","),
            std::string::npos)
      << text;
}

TEST(Results, WhatEndedEarlySaysWhy) {
  const ConfigResult result{"a", "step 7: the loss is nan", {}, {}};
  EXPECT_FALSE(result.holds());
  EXPECT_NE(results_markdown({result}).find("| step 7: the loss is nan |\n"), std::string::npos);
}

}  // namespace
}  // namespace xgrad
