#include <xgrad/train/run/session.hpp>

#include <gtest/gtest.h>

#include <csignal>
#include <set>

#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/train/logs/history.hpp>

#include "support/temporary_directory.hpp"

namespace xgrad {
namespace {

Config config_in(const std::string& directory) {
  return parse_config(
      "[task]\nname = 'reverse'\nlength = 4\nexamples = 100\nvalidation = 20\ntest = 20\n"
      "[model]\nwidth = 8\nheads = 2\nlayers = 1\n"
      "[train]\nsteps = 12\nbatch = 8\nevaluate_every = 4\n[log]\nevery = 1\n",
      "test", {"run.dir=" + directory});
}

// Notes what it is told, and stops the run after a step.
struct Notes : TrainerHooks {
  explicit Notes(std::uint64_t last = 0) : last(last) {}
  void on_step(const StepReport& report) override {
    steps.push_back(report.step);
    losses.push_back(report.loss);
  }
  void on_evaluation(std::uint64_t step, const Metrics&) override { evaluations.push_back(step); }
  void on_checkpoint(const Checkpoint& checkpoint) override { saves.push_back(checkpoint.step); }
  bool stop() override { return last > 0 && steps.back() == last; }

  std::uint64_t last;
  std::vector<std::uint64_t> steps, evaluations, saves;
  std::vector<double> losses;
};

Outcome run(const Config& config, const std::shared_ptr<TrainerHooks>& hook) {
  return start_run(config, "test.toml", {.quiet = true, .hooks = {hook}});
}

TEST(Session, HooksSeeWhatTheRunLogs) {
  const test::TemporaryDirectory folder;
  const auto notes = std::make_shared<Notes>();
  const Outcome outcome = run(config_in(folder.path() + "/run"), notes);
  EXPECT_EQ(outcome.signal, 0);
  EXPECT_EQ(outcome.directory, folder.path() + "/run");
  std::vector<double> logged;
  for (const MetricsRow& row : read_run(outcome.directory).rows) {
    if (row.split == "train") logged.push_back(*row.number("loss"));
  }
  EXPECT_EQ(notes->steps.size(), 12u);
  ASSERT_EQ(notes->losses.size(), logged.size());
  for (std::size_t i = 0; i < logged.size(); ++i) {
    EXPECT_NEAR(notes->losses[i], logged[i], 1e-6) << i;
  }
  EXPECT_EQ(notes->evaluations, (std::vector<std::uint64_t>{4, 8, 12}));
  EXPECT_EQ(notes->saves, (std::vector<std::uint64_t>{4, 8, 12}));
}

// Hooks change no bit, and a run that one of them stopped goes on to the same bits.
TEST(Session, AHookStopsTheRunInOrder) {
  const test::TemporaryDirectory folder;
  const std::string last = "/checkpoints/" + checkpoint_name(12);
  start_run(config_in(folder.path() + "/whole"), "test.toml", {.quiet = true});
  const Config config = config_in(folder.path() + "/stopped");
  const Outcome outcome = run(config, std::make_shared<Notes>(5));
  EXPECT_EQ(outcome.signal, SIGTERM);
  const RunDirectory directory = RunDirectory::open(outcome.directory);
  const Checkpoint checkpoint = latest_checkpoint(directory.checkpoints());
  EXPECT_EQ(checkpoint.step, 5u);
  EXPECT_EQ(continue_run(config, directory, &checkpoint, {.quiet = true}).signal, 0);
  EXPECT_EQ(read_file(outcome.directory + last), read_file(folder.path() + "/whole" + last));
}

// The rate grows until nothing is left of what was learned, so the best step is not the last.
Config rising_in(const std::string& directory, bool keep_best) {
  Config config = config_in(directory);
  config.optim.lr = 3;
  config.schedule.warmup = 12;
  config.train.evaluate_every = 2;
  config.train.keep_best = keep_best;
  return config;
}

TEST(Session, ScoresTheBestStepOrTheLast) {
  const test::TemporaryDirectory folder;
  std::set<std::string> hashes;
  for (const bool keep_best : {true, false}) {
    const std::string place = folder / (keep_best ? "best" : "last");
    const Outcome outcome = start_run(rising_in(place, keep_best), "test.toml", {.quiet = true});
    const FoundRun model = find_run(place), last = find_run(place, {}, Take::last);
    const auto best = std::uint64_t(state_value<std::int64_t>(last.checkpoint, "best_step"));
    ASSERT_LT(best, 12u);
    EXPECT_EQ(outcome.result.steps, 12u);
    EXPECT_EQ(last.checkpoint.step, 12u);
    EXPECT_EQ(model.checkpoint.step, keep_best ? best : 12u);
    EXPECT_EQ(outcome.result.best, keep_best ? std::optional(best) : std::nullopt);
    EXPECT_EQ(outcome.result.hash, state_hash(last.checkpoint));
    hashes.insert(outcome.result.hash);
    Trainer<float> trainer(model.config, &model.checkpoint);
    EXPECT_EQ(trainer.evaluate(Split::test).loss.mean(), outcome.result.test.loss.mean());
    const RunHistory history = read_run(place);
    EXPECT_EQ(history.last("test")->step, model.checkpoint.step);
    EXPECT_EQ(history.last("validation")->step, model.checkpoint.step);
    EXPECT_EQ(history.last_step, 12u);
    EXPECT_EQ(history.scored_step, model.checkpoint.step);
    // An override decides, too.
    const std::string other = keep_best ? "train.keep_best=false" : "train.keep_best=true";
    EXPECT_EQ(find_run(place, {other}).checkpoint.step, keep_best ? 12u : best);
    // By another metric, no step is the best yet.
    EXPECT_EQ(
        find_run(place, {"train.keep_best=true", "train.best_metric=accuracy"}).checkpoint.step,
        12u);
  }
  EXPECT_EQ(hashes.size(), 1u);
}

TEST(Session, WhatAHookThrowsEndsTheRun) {
  struct Broken : TrainerHooks {
    void on_step(const StepReport&) override { throw std::runtime_error("no more"); }
  };
  const test::TemporaryDirectory folder;
  EXPECT_THROW(run(config_in(folder.path() + "/run"), std::make_shared<Broken>()),
               std::runtime_error);
}

}  // namespace
}  // namespace xgrad
