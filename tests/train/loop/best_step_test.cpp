// The step that a run takes as its best.
#include <gtest/gtest.h>

#include <map>

#include <xgrad/train/checkpoint/state_dict.hpp>
#include <xgrad/train/loop/trainer.hpp>

#include "support/errors.hpp"
#include "train/loop/planter.hpp"
#include "train/small_run.hpp"

namespace xgrad {
namespace {

// The rate grows until nothing is left of what was learned, so the best step is not the last.
Config rising(const std::vector<std::string>& more = {}) {
  std::vector<std::string> all = {"optim.lr=3", "schedule.warmup=12", "train.evaluate_every=1"};
  all.insert(all.end(), more.begin(), more.end());
  return test::small_config(all);
}

struct Diary final : TrainerHooks {
  void on_evaluation(std::uint64_t step, const Metrics& metrics) override {
    for (const Figure& figure : metrics.figures()) values[figure.name][step] = figure.value;
  }
  void on_checkpoint(const Checkpoint& checkpoint) override { saves.push_back(checkpoint); }
  bool stop() override { return stops; }

  std::map<std::string, std::map<std::uint64_t, double>> values;
  std::vector<Checkpoint> saves;
  bool stops = false;
};

std::uint64_t first_best(const std::map<std::uint64_t, double>& values, bool higher) {
  auto best = values.begin();
  for (auto one = values.begin(); one != values.end(); ++one) {
    if (higher ? one->second > best->second : one->second < best->second) best = one;
  }
  return best->first;
}

TEST(BestStep, IsTheFirstBestOfTheMetric) {
  for (const std::string metric : {"loss", "accuracy", "exact_match", "perplexity"}) {
    for (const char* average : {"train.ema=0", "train.ema=0.5"}) {
      Trainer<float> trainer(rising({"train.best_metric=" + metric, average}));
      Diary diary;
      trainer.run(diary);
      const bool higher = metric == "accuracy" || metric == "exact_match";
      const std::uint64_t best = first_best(diary.values.at(metric), higher);
      EXPECT_EQ(trainer.best_step(), best) << metric << " " << average;
      EXPECT_LT(best, trainer.step()) << metric << " " << average;
      EXPECT_EQ(std::ranges::count(diary.saves, best, &Checkpoint::step), 1);
    }
  }
}

TEST(BestStep, ItsAveragedWeightsAreScored) {
  Trainer<float> trainer(rising({"train.ema=0.5"}));
  Diary diary;
  trainer.run(diary);
  const std::string before = to_hdf5(trainer.capture());
  const auto best = std::ranges::find(diary.saves, trainer.best_step(), &Checkpoint::step);
  const auto scored = [&](Split split) {
    return trainer.evaluate(split, diary, &*best)->loss.mean();
  };
  EXPECT_EQ(scored(Split::validation), diary.values["loss"][best->step]);
  EXPECT_NE(scored(Split::test), trainer.evaluate(Split::test).loss.mean());
  EXPECT_EQ(to_hdf5(trainer.capture()), before) << "scoring other weights has changed nothing";
  diary.stops = true;
  Trainer<float> resumed(rising({"train.ema=0.5"}));
  resumed.restore(*best);
  EXPECT_EQ(scored(Split::test), resumed.evaluate(Split::test).loss.mean());
}

TEST(BestStep, IsTheSameAfterAStopAnywhere) {
  const Config config = rising({"train.best_metric=accuracy"});
  Trainer<float> whole(config);
  Diary diary;
  whole.run(diary);
  for (const Checkpoint& save : diary.saves) {
    Trainer<float> resumed(config);
    resumed.restore(from_hdf5(to_hdf5(save), "memory"));
    Diary rest;
    resumed.run(rest);
    EXPECT_EQ(resumed.best_step(), whole.best_step()) << "from step " << save.step;
    EXPECT_EQ(to_hdf5(resumed.capture()), to_hdf5(whole.capture()));
  }
}

// The validations after the last save are forgotten with the steps that they followed.
TEST(BestStep, GoesBackWithTheRun) {
  Trainer<float> trainer(
      test::planted_config({"train.on_spike=rollback", "train.evaluate_every=1",
                            "train.save_every=12", "optim.lr=3", "schedule.warmup=12"}));
  struct Back final : TrainerHooks {
    explicit Back(test::Planter& planter) : planter(planter) {}
    void on_step(const StepReport& report) override { planter.armed = report.step == 6 && !fell; }
    void on_evaluation(std::uint64_t step, const Metrics& metrics) override {
      losses[step] = metrics.loss.mean();
    }
    void on_failed_step(const StepReport&, std::uint64_t step) override {
      planter.armed = false;
      fell = true;
      std::erase_if(losses, [&](const auto& one) { return one.first > step; });
    }
    test::Planter& planter;
    std::map<std::uint64_t, double> losses;
    bool fell = false;
  };
  test::Planter planter;
  planter.at = 1;
  Back back(planter);
  {
    const ScopedObserver observing(planter);
    trainer.run(back);
  }
  EXPECT_TRUE(back.fell);
  EXPECT_EQ(trainer.best_step(), first_best(back.losses, /*higher=*/false));
}

TEST(BestStep, NeedsAMetricOfTheTask) {
  for (const char* metric : {"r2", "bits_per_word"}) {
    const Config config = test::small_config({std::string("train.best_metric=") + metric});
    EXPECT_EQ(test::message_of<ConfigError>([&] { Trainer<float> trainer(config); }),
              std::string("train.best_metric: ") + metric + " is not measured for this task");
  }
}

}  // namespace
}  // namespace xgrad
