// The judgement of a config's claims, against numbers worked out by hand.
#include <gtest/gtest.h>
#include <support/errors.hpp>

#include <type_traits>

#include <xgrad/autograd/check.hpp>
#include <xgrad/train/run/session.hpp>

#include "support/tensors.hpp"

namespace xgrad {
namespace {

// Of 100 targets 90 are right, at a loss of 0.51; the best would be 0.91 and 0.5.
Result ninety_percent() {
  Result result{300, 1234, {}, Ceiling{0.91, 0.5}};
  for (int i = 0; i < 10; ++i) {
    result.test.accuracy.add(9, 10);
    result.test.loss.add(5.1, 10);
  }
  return result;
}

template <class Field>
ExpectConfig claim(std::optional<Field> ExpectConfig::*field, std::type_identity_t<Field> value) {
  ExpectConfig expect;
  expect.*field = value;
  return expect;
}

Verdict only(const ExpectConfig& expect) {
  const std::vector<Verdict> verdicts = judge(expect, ninety_percent());
  EXPECT_EQ(verdicts.size(), 1u);
  return verdicts.at(0);
}

TEST(Expect, NothingClaimedIsNothingJudged) {
  EXPECT_TRUE(judge({}, ninety_percent()).empty());
}

TEST(Expect, Accuracy) {
  EXPECT_TRUE(only(claim(&ExpectConfig::accuracy, 0.9)).holds);
  const Verdict verdict = only(claim(&ExpectConfig::accuracy, 0.901));
  EXPECT_FALSE(verdict.holds);
  EXPECT_EQ(verdict.claim, "accuracy >= 0.901");
  EXPECT_EQ(verdict.found, "0.9000 ± 0.0000");
}

TEST(Expect, AccuracyThatStaysLow) {
  EXPECT_TRUE(only(claim(&ExpectConfig::accuracy_below, 0.9)).holds);
  const Verdict verdict = only(claim(&ExpectConfig::accuracy_below, 0.899));
  EXPECT_FALSE(verdict.holds);
  EXPECT_EQ(verdict.claim, "accuracy <= 0.899");
  EXPECT_EQ(verdict.found, "0.9000 ± 0.0000");
}

TEST(Expect, AccuracyBelowTheCeiling) {
  EXPECT_TRUE(only(claim(&ExpectConfig::below_ceiling, 0.011)).holds);
  const Verdict verdict = only(claim(&ExpectConfig::below_ceiling, 0.009));
  EXPECT_FALSE(verdict.holds);
  EXPECT_EQ(verdict.claim, "accuracy within 0.009 of the best possible, 0.9100");
}

TEST(Expect, AccuracyAboveTheBestBaseline) {
  const auto judged = [](double lead) {
    Result result = ninety_percent();
    result.baseline = 0.75;
    return judge(claim(&ExpectConfig::above_baseline, lead), result).at(0);
  };
  EXPECT_TRUE(judged(0.149).holds);
  EXPECT_TRUE(judged(-1).holds);
  EXPECT_FALSE(judged(0.151).holds);
  EXPECT_EQ(judged(0.151).claim, "accuracy at least 0.151 above the best baseline, 0.7500");
  EXPECT_EQ(judged(0.151).found, "0.9000 ± 0.0000");
}

TEST(Expect, AccuracyOnBothSidesOfTheBestFromATokenAlone) {
  const auto judged = [](double best) {
    Result result = ninety_percent();
    result.token_ceiling = Ceiling{best, 0.5};
    return judge(claim(&ExpectConfig::at_token_ceiling, 0.01), result).at(0);
  };
  EXPECT_TRUE(judged(0.909).holds);
  EXPECT_TRUE(judged(0.891).holds);
  EXPECT_FALSE(judged(0.911).holds);
  EXPECT_FALSE(judged(0.889).holds);
  EXPECT_EQ(judged(0.909).claim, "accuracy within 0.01 of the best from a token alone, 0.9090");
  EXPECT_EQ(judged(0.909).found, "0.9000 ± 0.0000");
}

TEST(Expect, LossAboveTheFloor) {
  EXPECT_TRUE(only(claim(&ExpectConfig::above_floor, 0.021)).holds);
  const Verdict verdict = only(claim(&ExpectConfig::above_floor, 0.019));
  EXPECT_FALSE(verdict.holds);
  EXPECT_EQ(verdict.claim, "loss at most 1.9 % above the lowest possible, 0.5000");
  EXPECT_EQ(verdict.found, "0.5100 ± 0.0000");
}

// R^2 of targets 1 and 3 and predictions 1 and 2 is 1/2; the mean square error is 1/2 too.
Result numbers() {
  Result result;
  Batch batch;
  batch.size = 2;
  batch.values = test::tensor<float>({2, 1}, {1, 3});
  result.test.add(test::tensor<float>({2, 1}, {1, 2}), batch, {Loss::mse});
  return result;
}

TEST(Expect, LossExactMatchAndR2) {
  const auto holds = [](const ExpectConfig& expect, const Result& result) {
    return judge(expect, result).at(0).holds;
  };
  EXPECT_TRUE(holds(claim(&ExpectConfig::loss, 0.511), ninety_percent()));
  EXPECT_FALSE(holds(claim(&ExpectConfig::loss, 0.50), ninety_percent()));
  EXPECT_TRUE(holds(claim(&ExpectConfig::r2, 0.5), numbers()));
  EXPECT_FALSE(holds(claim(&ExpectConfig::r2, 0.51), numbers()));
  EXPECT_TRUE(holds(claim(&ExpectConfig::loss, 0.5), numbers()));
  Result right = ninety_percent();
  right.test.exact.add(3, 4);
  EXPECT_TRUE(holds(claim(&ExpectConfig::exact_match, 0.75), right));
  const Verdict verdict = judge(claim(&ExpectConfig::exact_match, 0.8), right).at(0);
  EXPECT_FALSE(verdict.holds);
  EXPECT_EQ(verdict.claim, "exact_match >= 0.8");
  EXPECT_EQ(verdict.found, "0.7500");
}

TEST(Expect, AClaimAboutWhatIsNotMeasuredIsRefused) {
  const auto error_of = [](const ExpectConfig& expect, const std::string& task) -> std::string {
    return test::message_of<ConfigError>(
        [&] { check_claims(expect, *find_task(task).make({}, 1)); });
  };
  EXPECT_EQ(error_of(claim(&ExpectConfig::r2, 0.5), "mean_of_marked"), "none");
  EXPECT_EQ(error_of(claim(&ExpectConfig::above_floor, 0.5), "mean_of_marked"), "none");
  EXPECT_EQ(error_of(claim(&ExpectConfig::accuracy, 0.5), "mean_of_marked"),
            "expect.accuracy: is not measured for targets that are numbers");
  EXPECT_EQ(error_of(claim(&ExpectConfig::below_ceiling, 0.5), "mean_of_marked"),
            "expect.below_ceiling: accuracy is not measured for targets that are numbers");
  EXPECT_EQ(error_of(claim(&ExpectConfig::above_baseline, 0.5), "mean_of_marked"),
            "expect.above_baseline: accuracy is not measured for targets that are numbers");
  EXPECT_EQ(error_of(claim(&ExpectConfig::at_token_ceiling, 0.5), "mean_of_marked"),
            "expect.at_token_ceiling: accuracy is not measured for targets that are numbers");
  EXPECT_EQ(error_of(claim(&ExpectConfig::at_token_ceiling, 0.5), "hmm"), "none");
  EXPECT_EQ(error_of(claim(&ExpectConfig::at_token_ceiling, 0.5), "markov"),
            "expect.at_token_ceiling: the best accuracy that is possible from a token alone is "
            "not known for this task");
  EXPECT_EQ(error_of(claim(&ExpectConfig::r2, 0.5), "copy"),
            "expect.r2: is not measured for targets that are classes");
}

TEST(Expect, Parameters) {
  EXPECT_TRUE(only(claim(&ExpectConfig::parameters, 1234)).holds);
  EXPECT_FALSE(only(claim(&ExpectConfig::parameters, 1235)).holds);
}

// Lines as a run writes them; the values are made up.
std::vector<MetricsRow> history(const std::vector<std::string>& lines) {
  std::vector<MetricsRow> rows;
  for (const std::string& line : lines) rows.push_back(read_row(line).value());
  return rows;
}

const std::vector<std::string> kHistory = {
    R"({"step": 50, "split": "train", "loss": 0.01, "accuracy": 1.0, "exact_match": 1.0})",
    R"({"step": 100, "split": "validation", "loss": 0.7, "accuracy": 0.62, "exact_match": 0.3})",
    R"({"step": 200, "split": "validation", "loss": null, "accuracy": null})",
    R"({"step": 300, "split": "validation", "loss": 0.4, "accuracy": 0.9, "exact_match": 0.5})",
    R"({"step": 400, "split": "validation", "loss": 0.5, "accuracy": 0.89, "exact_match": 0.8})",
    R"({"step": 500, "split": "validation", "loss": 0.1, "accuracy": 0.97, "exact_match": 0.9})",
    R"({"step": 500, "split": "test", "loss": 0.0, "accuracy": 1.0, "exact_match": 1.0})"};

TEST(Expect, TheFirstValidationThatReachesTheClaims) {
  const auto copy = find_task("copy").make({}, 1);
  const auto first = [&](const ExpectConfig& expect) {
    return first_reached(expect, history(kHistory), *copy);
  };
  EXPECT_EQ(first(claim(&ExpectConfig::accuracy, 0.9)), 300u) << "step 400 is below it again";
  EXPECT_EQ(first(claim(&ExpectConfig::accuracy, 0.6)), 100u);
  EXPECT_EQ(first(claim(&ExpectConfig::accuracy, 0.901)), 500u);
  EXPECT_EQ(first(claim(&ExpectConfig::accuracy, 0.98)), std::nullopt);
  EXPECT_EQ(first(claim(&ExpectConfig::loss, 0.4)), 300u);
  EXPECT_EQ(
      first_reached(claim(&ExpectConfig::above_baseline, 0.1), history(kHistory), *copy, 0.795),
      300u);
  EXPECT_EQ(
      first_reached(claim(&ExpectConfig::above_baseline, 0.1), history(kHistory), *copy, 0.805),
      500u);
  EXPECT_EQ(first(claim(&ExpectConfig::exact_match, 0.8)), 400u);
  ExpectConfig both = claim(&ExpectConfig::exact_match, 0.5);
  both.accuracy = 0.95;
  EXPECT_EQ(first(both), 500u) << "both at once";
  both.exact_match = 0.95;
  EXPECT_EQ(first(both), std::nullopt);
  EXPECT_EQ(first_reached(both, {}, *copy), std::nullopt);
}

// The best possible accuracy of a task is not the same on both splits.
TEST(Expect, TheFirstValidationNearTheBestOfItsSplit) {
  const auto task = find_task("markov").make({}, 1);
  const Ceiling best = task->ceiling(Split::validation).value();
  ASSERT_NE(best.accuracy, task->ceiling(Split::test)->accuracy);
  const auto row = [](std::uint64_t step, double accuracy, double loss) {
    return MetricsRow{step, "validation", {{"accuracy", accuracy}, {"loss", loss}}};
  };
  const std::vector<MetricsRow> rows = {row(1, best.accuracy - 0.0101, best.loss * 1.051),
                                        row(2, best.accuracy - 0.0099, best.loss * 1.051),
                                        row(3, best.accuracy - 0.0101, best.loss * 1.049)};
  EXPECT_EQ(first_reached(claim(&ExpectConfig::below_ceiling, 0.01), rows, *task), 2u);
  EXPECT_EQ(first_reached(claim(&ExpectConfig::above_floor, 0.05), rows, *task), 3u);
}

TEST(Expect, WithinSteps) {
  ExpectConfig expect = claim(&ExpectConfig::accuracy, 0.8);
  const auto judged = [&](std::optional<std::uint64_t> reached, std::uint64_t within) {
    Result result = ninety_percent();
    result.reached = reached;
    expect.within_steps = within;
    return judge(expect, result).at(1);
  };
  EXPECT_TRUE(judged(200, 200).holds);
  EXPECT_FALSE(judged(200, 199).holds);
  EXPECT_FALSE(judged(std::nullopt, 1000).holds);
  EXPECT_EQ(judged(200, 250).claim, "reached within 250 steps");
  EXPECT_EQ(judged(200, 250).found, "first at step 200");
  EXPECT_EQ(judged(std::nullopt, 1000).found, "in no validation");
}

// Of given numbers: no test depends on a clock.
TEST(Expect, Seconds) {
  EXPECT_TRUE(judge_seconds(12.5, 12.5).holds);
  EXPECT_FALSE(judge_seconds(12.5, 12.6).holds);
  EXPECT_EQ(judge_seconds(90, 12.34).claim, "trained within 90 seconds");
  EXPECT_EQ(judge_seconds(90, 12.34).found, "12.3");
  EXPECT_TRUE(judge(claim(&ExpectConfig::seconds, 1e-6), ninety_percent()).empty());
}

TEST(Expect, ClaimsAboutACeilingNeedATaskThatKnowsIt) {
  const auto copy = find_task("copy").make({}, 1), markov = find_task("markov").make({}, 1);
  EXPECT_NO_THROW(check_claims(claim(&ExpectConfig::accuracy, 0.9), *copy));
  EXPECT_NO_THROW(check_claims(claim(&ExpectConfig::below_ceiling, 0.1), *markov));
  try {
    check_claims(claim(&ExpectConfig::above_floor, 0.1), *copy);
    FAIL() << "no exception";
  } catch (const ConfigError& error) {
    EXPECT_STREQ(
        error.what(),
        "expect.above_floor: xgrad does not compute the best possible result of this task");
  }
}

TEST(Expect, AClaimAboutWhatIsNotMeasuredDoesNotHold) {
  const Verdict verdict = judge(claim(&ExpectConfig::accuracy, 0.1), numbers()).at(0);
  EXPECT_FALSE(verdict.holds);
  EXPECT_EQ(verdict.found, "not measured");
}

}  // namespace
}  // namespace xgrad
