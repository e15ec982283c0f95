// [train] on_spike: a failed step ends the run, is skipped, or makes the run roll back.
#include <gtest/gtest.h>

#include <optional>

#include "support/checkpoints.hpp"
#include "train/loop/planter.hpp"

namespace xgrad {
namespace {

using test::planted_config;
using test::Planter;
using test::Watch;

TEST(OnFailedStep, TheEleventhInARowEndsTheRun) {
  Progress progress{Config()};
  EXPECT_TRUE(progress.is_fatal("stop", false));
  EXPECT_TRUE(progress.is_fatal("skip", true)) << "no later step heals it";
  EXPECT_EQ(progress.failures_in_a_row, 0u);
  EXPECT_FALSE(progress.is_fatal("skip", false));
  EXPECT_FALSE(progress.is_fatal("rollback", false));
  EXPECT_FALSE(progress.is_fatal("rollback", true));
  EXPECT_EQ(progress.failures_in_a_row, 3u);
  for (const char* name : {"skip", "rollback"}) {
    progress.failures_in_a_row = 9;
    EXPECT_FALSE(progress.is_fatal(name, false)) << "the tenth";
    EXPECT_TRUE(progress.is_fatal(name, false)) << "the eleventh";
  }
}

// The step is skipped: no update, no entry, and the next batch next.
TEST(OnFailedStep, Skip) {
  Planter planter;
  planter.at = 3;
  Trainer<float> trainer(planted_config({"train.on_spike=skip"}));
  Watch watch(planter, 6);
  const ScopedObserver observing(planter);
  trainer.run(watch);
  EXPECT_EQ(watch.spikes, (std::vector<std::pair<std::uint64_t, std::uint64_t>>{{6, 6}}));
  EXPECT_EQ(watch.steps, (std::vector<std::uint64_t>{1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12}));
  EXPECT_EQ(state_value<std::int64_t>(watch.saves.back(), "optimizer_steps"), 11);
  EXPECT_EQ(watch.saves.size(), 3u);
}

// Back to the save of step 4, and on with the batches that come after the bad one.
TEST(OnFailedStep, Rollback) {
  Planter planter;
  planter.at = 3;
  Trainer<float> trainer(planted_config({"train.on_spike=rollback"}));
  Watch watch(planter, 6);
  const ScopedObserver observing(planter);
  trainer.run(watch);
  EXPECT_EQ(watch.spikes, (std::vector<std::pair<std::uint64_t, std::uint64_t>>{{6, 4}}));
  EXPECT_EQ(watch.steps, (std::vector<std::uint64_t>{1, 2, 3, 4, 5, 5, 6, 7, 8, 9, 10, 11, 12}));
  EXPECT_EQ(watch.saves.size(), 3u);
  EXPECT_EQ(state_value<std::int64_t>(watch.saves.back(), "position"), 14 * 8);
  EXPECT_EQ(state_value<std::int64_t>(watch.saves.back(), "optimizer_steps"), 12);
}

TEST(OnFailedStep, EndTheRunWhenTheyComeAgainAndAgain) {
  for (const char* what : {"skip", "rollback"}) {
    Planter planter;
    planter.at = 3;
    Trainer<float> trainer(
        planted_config({std::string("train.on_spike=") + what, "train.steps=100"}));
    Watch watch(planter, 2);
    watch.again_and_again = true;
    const ScopedObserver observing(planter);
    struct Stubborn final : TrainerHooks {
      explicit Stubborn(Watch& watch) : watch(watch) {}
      void on_step(const StepReport& r) override { watch.planter.armed = r.step >= 1; }
      void on_failed_step(const StepReport& r, std::uint64_t s) override {
        watch.on_failed_step(r, s);
      }
      Watch& watch;
    } hooks(watch);
    EXPECT_THROW(trainer.run(hooks), NumericError);
    EXPECT_EQ(watch.spikes.size(), 10u) << what;
  }
}

TEST(OnFailedStep, ALargeGradientIsOne) {
  Planter planter;
  planter.kind = OpCall::Kind::backward;
  planter.at = 2;
  planter.value = 1e6f;
  Trainer<float> trainer(
      planted_config({"train.on_spike=skip", "train.spike=50", "train.steps=40"}));
  Watch watch(planter, 30);
  const ScopedObserver observing(planter);
  trainer.run(watch);
  EXPECT_EQ(watch.spikes.size(), 1u);
  EXPECT_EQ(watch.spikes.at(0).first, 30u);
  EXPECT_EQ(state_value<std::int64_t>(watch.saves.back(), "spike_count"), 39);
}

TEST(OnFailedStep, RunsGoOnToTheBit) {
  // A run that rolls back ends after ten failures without a save between them, so fewer may fail.
  for (const auto& [what, spike] : {std::pair("skip", "1.0001"), {"rollback", "1.5"}}) {
    const Config config =
        planted_config({std::string("train.on_spike=") + what, std::string("train.spike=") + spike,
                        "train.batch=2", "train.steps=40", "train.save_every=5"});
    struct Keep final : TrainerHooks {
      void on_checkpoint(const Checkpoint& c) override { saves.push_back(c); }
      void on_failed_step(const StepReport&, std::uint64_t) override {
        if (!before) before = saves.size();
      }
      std::vector<Checkpoint> saves;
      std::optional<std::size_t> before;  // saves before the first failure
    };
    Keep whole;
    Trainer<float> straight(config);
    try {
      straight.run(whole);
    } catch (const NumericError&) {  // after ten in a row
    }
    ASSERT_TRUE(whole.before) << what;
    EXPECT_GT(whole.saves.size(), *whole.before) << what;
    ASSERT_GE(whole.saves.size(), 4u);
    for (std::size_t i = 0; i + 1 < whole.saves.size(); ++i) {
      Trainer<float> again(config, &whole.saves[i]);
      Keep rest;
      try {
        again.run(rest);
      } catch (const NumericError&) {
      }
      EXPECT_EQ(test::difference(rest.saves.back(), whole.saves.back()), "") << what << i;
    }
  }
}

}  // namespace
}  // namespace xgrad
