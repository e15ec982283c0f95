#include <xgrad/train/loop/trainer.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <set>

#include "support/gradients.hpp"
#include "train/small_run.hpp"

namespace xgrad {
namespace {

using State = std::map<std::string, StateValue>;

// A config that writes every entry.
Config everything() {
  return test::small_config({"schedule.name=plateau", "train.on_spike=skip", "train.spike=3",
                             "train.patience=2", "train.swa_start=1", "train.curriculum_start=2",
                             "train.curriculum_steps=5"});
}

State every_entry() {
  return {{"epoch", std::int64_t(2)},
          {"position", std::int64_t(3)},
          {"optimizer_steps", std::int64_t(4)},
          {"best_loss", 0.5},
          {"best_step", std::int64_t(6)},
          {"bad_evaluations", std::int64_t(7)},
          {"owes_validation", std::int64_t(1)},
          {"plateau_factor", 0.25},
          {"plateau_best", 0.125},
          {"plateau_bad", std::int64_t(8)},
          {"averaged", std::int64_t(11)},
          {"batches", std::int64_t(12)},
          {"spike_mean", 0.75},
          {"spike_count", std::int64_t(9)},
          {"failures_in_a_row", std::int64_t(10)}};
}

// Checkpoints are made by hand, so an entry that is missing from the list is found, and a member
// that is new does not compile until it is named here.
TEST(Progress, EveryMemberIsWrittenAndRead) {
  const Config config = everything();
  Progress progress(config);
  {
    auto& [step, loader, updates, loss, best, bad, owes, plateau, averaged, spikes, in_a_row] =
        progress;
    step = 1;
    loader = {2, 3, 12};
    updates = 4;
    loss = 0.5;
    best = 6;
    bad = 7;
    owes = true;
    plateau.state() = {0.25, 0.125, 8};
    averaged = 11;
    spikes.state() = {0.75, 9};
    in_a_row = 10;
  }
  Checkpoint written;
  progress.write(config, written);
  EXPECT_EQ(written.step, 1u);
  EXPECT_EQ(written.state, every_entry());

  const Checkpoint stored{.step = 1, .state = every_entry()};
  const Progress read(config, &stored);
  const auto& [step, loader, updates, loss, best, bad, owes, plateau, averaged, spikes, in_a_row] =
      read;
  EXPECT_EQ(step, 1u);
  EXPECT_EQ(loader, (LoaderState{2, 3, 12}));
  EXPECT_EQ(updates, 4u);
  EXPECT_EQ(loss, 0.5);
  EXPECT_EQ(best, 6u);
  EXPECT_EQ(bad, 7u);
  EXPECT_TRUE(owes);
  EXPECT_EQ(plateau.state().factor, 0.25);
  EXPECT_EQ(plateau.state().best, 0.125);
  EXPECT_EQ(plateau.state().bad, 8u);
  EXPECT_EQ(averaged, 11u);
  EXPECT_EQ(spikes.state().mean, 0.75);
  EXPECT_EQ(spikes.state().count, 9u);
  EXPECT_EQ(in_a_row, 10u);
}

// Stored in every checkpoint, with any config.
const std::set<std::string> kAlways = {"epoch", "position", "optimizer_steps", "best_loss",
                                       "best_step"};

TEST(Progress, WritesWhatTheConfigAsksFor) {
  const auto names = [](const std::vector<std::string>& overrides) {
    const Config config = test::small_config(overrides);
    Checkpoint checkpoint;
    Progress(config).write(config, checkpoint);
    std::set<std::string> more;
    for (const auto& [name, value] : checkpoint.state) {
      if (!kAlways.contains(name)) more.insert(name);
    }
    EXPECT_EQ(checkpoint.state.size(), kAlways.size() + more.size());
    return more;
  };
  using Names = std::set<std::string>;
  EXPECT_EQ(names({}), Names());
  EXPECT_EQ(names({"train.on_spike=rollback"}), Names());
  EXPECT_EQ(names({"train.on_spike=skip"}), Names{"failures_in_a_row"});
  EXPECT_EQ(names({"train.patience=1"}), Names{"bad_evaluations"});
  EXPECT_EQ(names({"train.swa_start=1"}), Names{"averaged"});
  EXPECT_EQ(names({"train.curriculum_start=2", "train.curriculum_steps=5"}), Names{"batches"});
  EXPECT_EQ(names({"train.spike=2"}), (Names{"spike_mean", "spike_count"}));
  EXPECT_EQ(names({"schedule.name=plateau"}),
            (Names{"plateau_factor", "plateau_best", "plateau_bad"}));
}

// A run may be resumed with keys that add entries, or with another train.best_metric; other entries
// may not be missing, nor the rest of a part.
TEST(Progress, OnlyWholePartsCanBeMissing) {
  const auto without = [](const std::string& name) {
    Checkpoint checkpoint{.state = every_entry()};
    checkpoint.state.erase(name);
    return Progress(everything(), &checkpoint);
  };
  for (const std::string name : {"epoch", "position", "optimizer_steps", "best_step", "spike_count",
                                 "plateau_best", "plateau_bad"}) {
    EXPECT_TRUE(test::throws_with<CheckpointError>([&] { without(name); }, "has no entry " + name));
  }
  EXPECT_EQ(without("best_loss").best_step, 0u);
  EXPECT_EQ(without("bad_evaluations").bad_evaluations, 0u);
  EXPECT_EQ(without("failures_in_a_row").failures_in_a_row, 0u);
  EXPECT_EQ(without("averaged").averaged, 0u);
  EXPECT_EQ(without("batches").loader.batches, 0u);
  EXPECT_EQ(without("spike_mean").spikes.state().count, 0u);
  EXPECT_EQ(without("plateau_factor").plateau.factor(), 1);
  EXPECT_FALSE(without("owes_validation").owes_validation);
}

TEST(Progress, RefusesEntriesOfAnotherTypeOrSign) {
  for (const auto& [name, value] : every_entry()) {
    Checkpoint checkpoint{.state = every_entry()};
    checkpoint.state[name] = std::string("1");
    EXPECT_TRUE(test::throws_with<CheckpointError>([&] { Progress(everything(), &checkpoint); },
                                                   "the state's " + name + " is of another type"));
    if (!std::holds_alternative<std::int64_t>(value)) continue;
    checkpoint.state[name] = std::int64_t(-1);
    EXPECT_TRUE(test::throws_with<CheckpointError>([&] { Progress(everything(), &checkpoint); },
                                                   "the checkpoint's " + name + " is -1"));
  }
}

TEST(Progress, TheBestIsNamedAfterItsMetric) {
  const Config config = test::small_config({"train.best_metric=accuracy"});
  Progress progress(config);
  progress.step = 3;
  progress.observe(2, {"accuracy", 0.5});
  Checkpoint checkpoint;
  progress.write(config, checkpoint);
  EXPECT_EQ(state_value<double>(checkpoint, "best_accuracy"), 0.5);
  EXPECT_FALSE(checkpoint.state.contains("best_loss"));
  EXPECT_EQ(Progress(config, &checkpoint).best_step, 3u);
  // With another metric no step is the best yet, and the next one is.
  Progress other(test::small_config({"train.best_metric=loss"}), &checkpoint);
  EXPECT_EQ(other.best_step, 0u);
  other.step = 4;
  EXPECT_TRUE(other.observe(9, {"loss", 9}));
}

TEST(Progress, HigherOrLowerIsBetterAndTheFirstOfEqualOnesIsTheBest) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInf = std::numeric_limits<double>::infinity();
  for (const bool higher : {false, true}) {
    const std::uint64_t best = higher ? 3 : 4;
    Progress progress(test::small_config({"train.best_metric=r2"}));
    for (const double value : {kNan, -1.0, 2.0, -3.0, -3.0, 2.0, kNan, kInf, -kInf}) {
      ++progress.step;
      progress.observe(1, {"r2", value, 0, higher});
    }
    EXPECT_EQ(progress.best_step, best);
    EXPECT_EQ(progress.best_value, higher ? 2.0 : -3.0);
    EXPECT_EQ(progress.bad_evaluations, 9 - best);
  }
}

TEST(Progress, ALossIsTheBestOrCountsAsBad) {
  Progress progress(everything());
  const auto observe = [&](double loss) {
    ++progress.step;
    progress.owes_validation = true;
    const bool best = progress.observe(loss, {"loss", loss});
    EXPECT_FALSE(progress.owes_validation);
    return best;
  };
  EXPECT_TRUE(observe(3));
  EXPECT_FALSE(observe(3));
  EXPECT_FALSE(observe(4));
  EXPECT_EQ(progress.best_step, 1u);
  EXPECT_EQ(progress.best_value, 3);
  EXPECT_EQ(progress.bad_evaluations, 2u);
  EXPECT_TRUE(observe(2));
  EXPECT_EQ(progress.best_step, 4u);
  EXPECT_EQ(progress.bad_evaluations, 0u);
}

}  // namespace
}  // namespace xgrad
