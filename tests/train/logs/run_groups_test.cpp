#include <xgrad/train/logs/history.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace xgrad {
namespace {

using State = RunHistory::State;

RunHistory run_of(const std::string& path, std::uint64_t seed, double lr,
                  std::vector<MetricsRow> rows, State state = State::finished) {
  RunHistory run;
  run.path = run.name = path;
  run.config = parse_config("[task]\nname = \"reverse\"\n[train]\nsteps = 9\n", "test", {});
  run.config.train.seed = seed;
  run.config.optim.lr = lr;
  run.rows = std::move(rows);
  run.state = state;
  return run;
}

MetricsRow row(std::uint64_t step, double loss, double error = 0.5) {
  return {step, "validation", {{"loss", loss}, {"loss_se", error}}};
}

TEST(RunGroup, RunsThatDifferInTheirSeedAloneAreOne) {
  const auto groups = group_runs({run_of("a", 1, 0.1, {}), run_of("b", 1, 0.2, {}),
                                  run_of("c", 2, 0.1, {}), run_of("d", 1, 0.1, {})});
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[0].runs.size(), 2u);
  EXPECT_EQ(groups[0].runs[1].path, "c");
  EXPECT_EQ(groups[0].name, "optim.lr=0.1");
  EXPECT_EQ(groups[1].name, "b");
  EXPECT_EQ(groups[2].name, "d");  // the seed of "a" again
}

TEST(RunGroup, TheMeanOfOneRunIsItsOwnRow) {
  const auto groups = group_runs({run_of("a", 1, 0.1, {row(5, 3), row(9, 2, 0.25)})});
  EXPECT_EQ(groups[0].last.at("validation").numbers, row(9, 2, 0.25).numbers);
  EXPECT_EQ(groups[0].rows.at("validation").size(), 2u);
  EXPECT_TRUE(groups[0].last.at("test").numbers.empty());
}

// 1, 2 and 6: the mean is 3, s^2 = (4 + 1 + 9) / 2 = 7.
TEST(RunGroup, TheStandardErrorIsOverRuns) {
  const auto groups =
      group_runs({run_of("a", 1, 0.1, {row(5, 1)}), run_of("b", 2, 0.1, {row(5, 2)}),
                  run_of("c", 3, 0.1, {row(5, 6)})});
  const MetricsRow& mean = groups.at(0).last.at("validation");
  EXPECT_DOUBLE_EQ(mean.number("loss").value(), 3);
  EXPECT_NEAR(mean.number("loss_se").value(), std::sqrt(7.0 / 3), 1e-12);
}

TEST(RunGroup, AMeanIsOverStepsThatEveryRunHas) {
  const auto groups = group_runs({run_of("a", 1, 0.1, {row(5, 1), row(10, 2), row(15, 9)}),
                                  run_of("b", 2, 0.1, {row(5, 3), row(10, 4)})});
  const auto rows = groups.at(0).rows.at("validation");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1].step, 10u);
  EXPECT_EQ(rows[1].number("loss"), 3);
  EXPECT_EQ(groups[0].last.at("validation").number("loss"),
            6.5);  // whose runs stopped at 15 and 10
}

TEST(RunGroup, AMeanLeavesOutFailedRuns) {
  const auto good = run_of("a", 1, 0.1, {row(5, 1)});
  const auto bad = run_of("b", 2, 0.1, {row(5, 7)}, State::failed);
  const auto mixed = group_runs({good, bad});
  EXPECT_EQ(mixed.at(0).state(), "1 finished, 1 failed");
  EXPECT_EQ(mixed[0].last.at("validation").number("loss"), 1);
  EXPECT_EQ(mixed[0].rows.at("validation").at(0).number("loss"), 1);
  const auto alone = group_runs({bad});
  EXPECT_EQ(alone.at(0).state(), "failed");
  EXPECT_EQ(alone[0].last.at("validation").number("loss"), 7);
}

TEST(RunGroup, AMeanIsOverFinishedRunsIfThereAreAny) {
  const auto finished = run_of("a", 1, 0.1, {row(5, 4)});
  const auto second = run_of("b", 2, 0.1, {row(5, 6)});
  const auto unfinished = run_of("c", 3, 0.1, {row(5, 17)}, State::unfinished);
  const auto failed = run_of("d", 4, 0.1, {row(5, 99)}, State::failed);
  const auto loss = [](const std::vector<RunHistory>& runs) {
    return group_runs(runs).at(0).last.at("validation").number("loss");
  };
  EXPECT_EQ(loss({unfinished, finished, second, failed}), 5);
  EXPECT_EQ(loss({failed, unfinished}), 17);
}

// The error over the examples of the one run would read as one over runs.
TEST(RunGroup, AMeanOverOneOfSeveralRunsHasNoError) {
  const auto groups = group_runs({run_of("a", 1, 0.1, {row(3, 4), row(5, 1)}),
                                  run_of("b", 2, 0.1, {row(5, 7)}, State::failed)});
  const MetricsRow& mean = groups.at(0).last.at("validation");
  EXPECT_EQ(mean.number("loss"), 1);
  EXPECT_EQ(mean.number("loss_se"), std::nullopt);
  EXPECT_EQ(groups[0].rows.at("validation").at(0).number("loss_se"), std::nullopt);
}

TEST(RunGroup, CopiesOfSeveralRunsHaveNamesOfTheirOwn) {
  const auto groups =
      group_runs({run_of("a", 1, 0.1, {}), run_of("b", 2, 0.1, {}), run_of("c", 1, 0.1, {}),
                  run_of("d", 2, 0.1, {}), run_of("e", 1, 0.2, {}), run_of("f", 2, 0.2, {})});
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[0].name, "a and 1 more");
  EXPECT_EQ(groups[1].name, "c and 1 more");
  EXPECT_EQ(groups[2].name, "optim.lr=0.2");
}

TEST(RunGroup, SettingsAreTheKeysThatDiffer) {
  const auto one = run_of("a", 1, 0.1, {}), two = run_of("b", 2, 0.2, {});
  using Table = std::vector<std::vector<std::string>>;
  EXPECT_EQ(settings_of(group_runs({one, two})),
            (Table{{"optim.lr", "0.1", "0.2"}, {"train.seed", "1", "2"}}));
  EXPECT_EQ(settings_of(group_runs({one, two, run_of("c", 3, 0.2, {})})),
            (Table{{"optim.lr", "0.1", "0.2"}}));
}

TEST(RunGroup, AMeanIsOverRowsOfItsSplit) {
  const auto both = [](double train, double validation) {
    return std::vector<MetricsRow>{{5, "train", {{"loss", train}}},
                                   {5, "validation", {{"loss", validation}}}};
  };
  const auto groups =
      group_runs({run_of("a", 1, 0.1, both(1, 10)), run_of("b", 2, 0.1, both(3, 30))});
  for (const auto& [split, mean] :
       std::map<std::string, double>{{"train", 2}, {"validation", 20}}) {
    const auto& rows = groups.at(0).rows.at(split);
    ASSERT_EQ(rows.size(), 1u) << split;
    EXPECT_EQ(rows[0].split, split);
    EXPECT_EQ(rows[0].number("loss"), mean) << split;
  }
}

}  // namespace
}  // namespace xgrad
