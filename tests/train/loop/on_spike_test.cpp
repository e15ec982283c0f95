// [train] on_spike: failed steps end the run, are passed over or are gone back from.
#include <xgrad/train/loop/on_spike.hpp>

#include <gtest/gtest.h>

#include <optional>

#include "support/checkpoints.hpp"
#include "train/loop/planter.hpp"

namespace xgrad {
namespace {

using test::planted_config;
using test::Planter;
using test::Watch;

TEST(OnSpike, JudgesByNameCountAndKindOfFault) {
  std::uint64_t in_a_row = 0;
  EXPECT_EQ(judge(remedy_of("stop"), false, in_a_row), Remedy::end);
  EXPECT_EQ(judge(remedy_of("skip"), true, in_a_row), Remedy::end) << "no later step heals it";
  EXPECT_EQ(in_a_row, 0u);
  EXPECT_EQ(judge(remedy_of("skip"), false, in_a_row), Remedy::pass_over);
  EXPECT_EQ(judge(remedy_of("rollback"), false, in_a_row), Remedy::go_back);
  EXPECT_EQ(judge(remedy_of("rollback"), true, in_a_row), Remedy::go_back);
  EXPECT_EQ(in_a_row, 3u);
  for (const char* name : {"skip", "rollback"}) {
    in_a_row = 9;
    EXPECT_NE(judge(remedy_of(name), false, in_a_row), Remedy::end) << "the tenth";
    EXPECT_EQ(judge(remedy_of(name), false, in_a_row), Remedy::end) << "the eleventh";
  }
}

// The step is passed over: no update, no entry, and the next batch next.
TEST(OnSpike, Skip) {
  Planter planter;
  planter.at = 3;
  Trainer<float> trainer(planted_config({"train.on_spike=skip"}));
  Watch watch(planter, 6);
  const Observing observing(planter);
  trainer.run(watch);
  EXPECT_EQ(watch.spikes, (std::vector<std::pair<std::uint64_t, std::uint64_t>>{{6, 6}}));
  EXPECT_EQ(watch.steps, (std::vector<std::uint64_t>{1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12}));
  EXPECT_EQ(state_value<std::int64_t>(watch.saves.back(), "optimizer_steps"), 11);
  EXPECT_EQ(watch.saves.size(), 3u);
}

// Back to the save of step 4, and on with the batches that come after the bad one.
TEST(OnSpike, Rollback) {
  Planter planter;
  planter.at = 3;
  Trainer<float> trainer(planted_config({"train.on_spike=rollback"}));
  Watch watch(planter, 6);
  const Observing observing(planter);
  trainer.run(watch);
  EXPECT_EQ(watch.spikes, (std::vector<std::pair<std::uint64_t, std::uint64_t>>{{6, 4}}));
  EXPECT_EQ(watch.steps, (std::vector<std::uint64_t>{1, 2, 3, 4, 5, 5, 6, 7, 8, 9, 10, 11, 12}));
  EXPECT_EQ(watch.saves.size(), 3u);
  EXPECT_EQ(state_value<std::int64_t>(watch.saves.back(), "position"), 14 * 8);
  EXPECT_EQ(state_value<std::int64_t>(watch.saves.back(), "optimizer_steps"), 12);
}

TEST(OnSpike, EndTheRunWhenTheyComeAgainAndAgain) {
  for (const char* what : {"skip", "rollback"}) {
    Planter planter;
    planter.at = 3;
    Trainer<float> trainer(
        planted_config({std::string("train.on_spike=") + what, "train.steps=100"}));
    Watch watch(planter, 2);
    watch.again_and_again = true;
    const Observing observing(planter);
    struct Stubborn final : TrainerHooks {
      explicit Stubborn(Watch& watch) : watch(watch) {}
      void on_step(const StepReport& r) override { watch.planter.armed = r.step >= 1; }
      void on_spike(const StepReport& r, std::uint64_t s) override { watch.on_spike(r, s); }
      Watch& watch;
    } hooks(watch);
    EXPECT_THROW(trainer.run(hooks), NumericError);
    EXPECT_EQ(watch.spikes.size(), 10u) << what;
  }
}

TEST(OnSpike, ALargeGradientIsOne) {
  Planter planter;
  planter.kind = OpCall::Kind::backward;
  planter.at = 2;
  planter.value = 1e6f;
  Trainer<float> trainer(
      planted_config({"train.on_spike=skip", "train.spike=50", "train.steps=40"}));
  Watch watch(planter, 30);
  const Observing observing(planter);
  trainer.run(watch);
  EXPECT_EQ(watch.spikes.size(), 1u);
  EXPECT_EQ(watch.spikes.at(0).first, 30u);
  EXPECT_EQ(state_value<std::int64_t>(watch.saves.back(), "spike_count"), 39);
}

TEST(OnSpike, RunsGoOnToTheBit) {
  // A run that goes back ends after ten failures without a save between them, so fewer may fail.
  for (const auto& [what, spike] : {std::pair("skip", "1.0001"), {"rollback", "1.5"}}) {
    const Config config =
        planted_config({std::string("train.on_spike=") + what, std::string("train.spike=") + spike,
                        "train.batch=2", "train.steps=40", "train.save_every=5"});
    struct Keep final : TrainerHooks {
      void on_checkpoint(const Checkpoint& c) override { saves.push_back(c); }
      void on_spike(const StepReport&, std::uint64_t) override {
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
