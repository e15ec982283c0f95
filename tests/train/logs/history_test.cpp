#include <xgrad/train/logs/history.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include <xgrad/storage/disk/publish.hpp>
#include <xgrad/storage/disk/temporary.hpp>

#include "support/gradients.hpp"

namespace xgrad {
namespace {

TEST(RunHistory, NamesOfRunsInSeveralFoldersDiffer) {
  const TemporaryFolder folder;
  const auto run = [&](const std::string& name) {
    std::filesystem::create_directories(folder / name);
    const std::string config = "[task]\nname = \"reverse\"\n[train]\nsteps = 1\n";
    publish_over(folder / name, "config.toml", config);
    return folder / name;
  };
  const auto names = [](const std::vector<std::string>& directories) {
    std::vector<std::string> all;
    for (const RunHistory& record : read_runs(directories)) all.push_back(record.name);
    return all;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(names({run("x/a")}), Names{"a"});
  EXPECT_EQ(names({run("x/a"), run("y/a/"), run("y/b")}), (Names{"x/a", "y/a", "b"}));
  EXPECT_EQ(names({run("1/x/a"), run("2/x/a"), run("2/y/a")}), (Names{"1/x/a", "2/x/a", "y/a"}));
  EXPECT_EQ(names({run("x/a"), run("x/a/x/a")}).at(1), "a/x/a");
  EXPECT_EQ(names({run("x/a"), run("x/./a")}), (Names{"a", "a"}));  // the same twice
}

// Makes a run of these files.
std::string run_of(const TemporaryFolder& folder, const std::map<std::string, std::string>& files) {
  publish_over(folder.path(), "config.toml", "[task]\nname = \"reverse\"\n[train]\nsteps = 9\n");
  for (const auto& [name, text] : files) publish_over(folder.path(), name, text);
  return folder.path();
}

TEST(RunHistory, ReadsTheFilesOfARun) {
  const TemporaryFolder folder;
  const RunHistory run =
      read_run(run_of(folder, {{"metrics.jsonl",
                                "{\"step\":2,\"split\":\"train\",\"loss\":3}\n"
                                "{\"step\":8,\"split\":\"validation\",\"loss\":2}\n"
                                "{\"step\":4,\"split\":\"train\",\"loss\":1}\n"},
                               {"timing.jsonl",
                                "{\"step\":2,\"seconds\":0.5,\"tokens_per_second\":10}\n"
                                "{\"step\":4,\"seconds\":1.5,\"tokens_per_second\":20}\n"},
                               {"log.txt", "failed: no\nstep 2\n"}}));
  EXPECT_EQ(run.state, RunHistory::State::unfinished);
  EXPECT_EQ(run.last_step, 8u);
  EXPECT_EQ(run.seconds, 1.5);
  EXPECT_EQ(run.rate, 20);
  EXPECT_EQ(run.failure, "");
  EXPECT_EQ(run.config.train.steps, 9u);
  ASSERT_NE(run.last("train"), nullptr);
  EXPECT_EQ(run.last("train")->number("loss"), 1);
  EXPECT_EQ(run.last("test"), nullptr);
}

TEST(RunHistory, OfARunThatHasNotBegun) {
  const TemporaryFolder folder;
  const RunHistory run = read_run(run_of(folder, {}) + "//");
  EXPECT_EQ(run.path, folder.path());
  EXPECT_EQ(run.state, RunHistory::State::unfinished);
  EXPECT_EQ(run.last_step, 0u);
  EXPECT_EQ(run.seconds, 0);
  EXPECT_EQ(run.rate, 0);
}

TEST(RunHistory, TheEndOfARun) {
  const TemporaryFolder folder;
  const std::string log = "step 2\n" + failure_line("loss:\nNaN") + "\n\n";
  EXPECT_EQ(log, "step 2\nfailed: loss: NaN\n\n");
  const RunHistory failed = read_run(run_of(folder, {{"log.txt", log}}));
  EXPECT_EQ(failed.state, RunHistory::State::failed);
  EXPECT_EQ(failed.failure, "loss: NaN");
  const RunHistory finished =
      read_run(run_of(folder, {{"metrics.jsonl", "{\"step\":9,\"split\":\"test\",\"loss\":2}\n"}}));
  EXPECT_EQ(finished.state, RunHistory::State::finished);
  EXPECT_EQ(finished.failure, "");
}

TEST(RunHistory, TheLastValidationIsThatOfTheScoredStep) {
  const auto row = [](std::uint64_t step, const char* split, double loss) {
    return MetricsRow{step, split, {{"loss", loss}}};
  };
  RunHistory run;
  run.rows = {row(3, "validation", 1), row(4, "train", 5), row(6, "validation", 2)};
  EXPECT_EQ(run.last("validation")->step, 6u);
  run.rows.push_back(row(3, "test", 1));  // of the best step
  EXPECT_EQ(run.last("validation")->step, 3u);
  EXPECT_EQ(run.last("train")->step, 4u);
  run.rows.back() = row(6, "test", 1);
  EXPECT_EQ(run.last("validation")->step, 6u);
  EXPECT_EQ(run.last("train")->step, 4u);
}

TEST(RunHistory, SaysThatTheLastValidationIsWorseThanTheBest) {
  TrainConfig train;
  const auto said = [&](double last, std::optional<double> error, std::uint64_t best_step = 3) {
    std::vector<MetricsRow> rows = {{3, "validation", {{"loss", 0.371}, {"loss_se", 0.01}}},
                                    {6, "validation", {{"loss", last}}},
                                    {6, "test", {{"loss", 9}, {"loss_se", 0}}}};
    if (error) rows[1].numbers.emplace_back("loss_se", *error);
    return got_worse(train, rows, best_step);
  };
  const std::string worse =
      "the last validation loss is 0.4790 ± 0.0200, worse than 0.3710 at step 3";
  const std::string model = worse + "; the model has the weights of that step";
  EXPECT_EQ(said(0.479, 0.02), model + "; train.patience would end such a run earlier");
  train.patience = 2;
  EXPECT_EQ(said(0.479, 0.02), model);
  train.keep_best = false;
  EXPECT_EQ(said(0.479, 0.02),
            worse + "; train.keep_best=true would take the weights of that step");
  EXPECT_EQ(said(0.479, 0.2), "");
  EXPECT_EQ(said(0.479, std::nullopt), "");
  EXPECT_EQ(said(0.479, 0.02, /*best_step=*/2), "") << "without a row of the best step";
  EXPECT_EQ(said(0.479, 0.02, /*best_step=*/6), "");
  EXPECT_EQ(got_worse({}, {}, 0), "");
}

TEST(RunHistory, OfAFolderThatIsNoRun) {
  const TemporaryFolder folder;
  EXPECT_TRUE(
      test::throws_with<IoError>([&] { read_run(folder.path()); }, "is not a run directory"));
}

}  // namespace
}  // namespace xgrad
