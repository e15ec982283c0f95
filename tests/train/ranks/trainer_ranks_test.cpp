// A trainer's results depend on the number of shards, never on the number of ranks.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <mutex>

#include <xgrad/train/checkpoint/state_dict.hpp>
#include <xgrad/train/loop/trainer.hpp>

#include "support/thread_ranks.hpp"
#include "train/small_run.hpp"

namespace xgrad {
namespace {

using test::small_config;

struct Diary final : TrainerHooks {
  void on_step(const StepReport& report) override {
    for (const double x : {report.loss, report.grad_norm, report.lr}) numbers.push_back(x);
    add(report.metrics);
  }
  void on_evaluation(std::uint64_t, const Metrics& metrics) override { add(metrics); }
  void add(const Metrics& metrics) {
    const std::vector<double> more = to_numbers(metrics);
    numbers.insert(numbers.end(), more.begin(), more.end());
  }
  bool stop() override { return --left == 0; }

  std::vector<double> numbers;
  std::size_t left = 0;  // 0: to the end
};

struct Result {
  std::string checkpoint;
  std::vector<double> numbers;
};

// Trains on `size` ranks, and expects the same result on each.
Result result_of(const Config& config, std::size_t size, const Checkpoint* from = nullptr,
                 std::size_t stop_after = 0) {
  std::mutex mutex;
  std::vector<Result> results;
  test::on_ranks(size, [&](Ranks& ranks) {
    Trainer<float> trainer(config, from, nullptr, ranks);
    Diary diary;
    diary.left = stop_after;
    trainer.run(diary);
    diary.add(trainer.evaluate(Split::test));
    const Result result{to_hdf5(trainer.capture()), diary.numbers};
    const std::lock_guard lock(mutex);
    results.push_back(result);
  });
  for (const Result& result : results) {
    EXPECT_EQ(result.checkpoint, results[0].checkpoint) << "on " << size << " ranks";
    EXPECT_EQ(result.numbers, results[0].numbers) << "on " << size << " ranks";
  }
  return results[0];
}

void expect_same_on_any_number_of_ranks(std::vector<std::string> overrides) {
  SCOPED_TRACE(overrides[0]);
  overrides.push_back("train.shards=5");
  const Config config = small_config(overrides);
  const Result expected = result_of(config, 1);
  for (const std::size_t size : {2, 3, 4, 5}) {
    const Result result = result_of(config, size);
    EXPECT_EQ(result.checkpoint, expected.checkpoint) << "on " << size << " ranks";
    EXPECT_EQ(result.numbers, expected.numbers) << "on " << size << " ranks";
  }
}

TEST(TrainerRanks, EachOptimizerHasTheSameBits) {
  for (const char* name : {"adagrad", "adam", "adamw", "lion", "rmsprop", "sgd"}) {
    expect_same_on_any_number_of_ranks({std::string("optim.name=") + name, "train.steps=6"});
  }
}

TEST(TrainerRanks, TheSameBitsWithDropoutAccumulationAveragesAndPenalty) {
  // The last batch of an epoch has two examples, fewer than shards.
  expect_same_on_any_number_of_ranks({"task.examples=34", "model.dropout=0.2",
                                      "model.attention_dropout=0.1", "train.accumulate=2",
                                      "train.ema=0.9", "train.clip=0.1", "model.layers=2",
                                      "train.head_diversity=0.1", "log.every=1"});
}

TEST(TrainerRanks, TheSameBitsWithAnEqualMeanWeightsOfClassesAndACurriculum) {
  expect_same_on_any_number_of_ranks(
      {"task.min_length=2", "model.stochastic_depth=0.5", "train.dropout_end=0.1",
       "train.accumulate=2", "train.swa_start=4", "train.clip_value=0.01", "train.clip=0.05",
       "train.class_weights=balanced", "train.curriculum_start=3", "train.curriculum_steps=6",
       "log.every=1"});
}

// Each rank then updates blocks of its own, in each of several buckets that are sent early.
TEST(TrainerRanks, TheSameBitsWhereEveryRankHasASlice) {
  expect_same_on_any_number_of_ranks({"model.width=128", "model.layers=2", "train.steps=3",
                                      "train.evaluate_every=3", "train.ema=0.9",
                                      "train.accumulate=2", "train.recompute=true"});
}

TEST(TrainerRanks, TheSameBitsAfterAStopAndAResumeOnAnotherNumber) {
  const Config config =
      small_config({"train.shards=4", "train.ema=0.9", "train.steps=8", "model.width=64"});
  const std::string expected = result_of(config, 1).checkpoint;
  for (const std::size_t k : {1, 3, 4, 7}) {
    const Checkpoint first = from_hdf5(result_of(config, 3, nullptr, k).checkpoint, "memory");
    EXPECT_EQ(first.step, k);
    const Checkpoint second = from_hdf5(result_of(config, 2, &first, 1).checkpoint, "memory");
    EXPECT_EQ(second.step, std::min<std::size_t>(k + 1, 8));
    EXPECT_EQ(result_of(config, 4, &second).checkpoint, expected) << "stopped after " << k;
  }
}

// Rank 1 is asked for a save after step 2, and for a stop after step 3.
TEST(TrainerRanks, AllSaveAndStopWhenOneIsTold) {
  struct Told final : TrainerHooks {
    explicit Told(bool here) : here(here) {}
    void on_step(const StepReport& report) override { step = report.step; }
    void on_checkpoint(const Checkpoint& checkpoint) override { saves.push_back(checkpoint.step); }
    bool take_save() override { return here && step == 2; }
    bool stop() override { return here && step == 3; }
    void on_stop_of(std::size_t rank) override { told_by.push_back(rank); }
    bool here;
    std::uint64_t step = 0;
    std::vector<std::uint64_t> saves;
    std::vector<std::size_t> told_by;
  };
  const Config config =
      small_config({"train.shards=3", "train.evaluate_every=9", "train.save_every=9"});
  test::on_ranks(3, [&](Ranks& ranks) {
    Trainer<float> trainer(config, nullptr, nullptr, ranks);
    Told told(ranks.rank() == 1);
    trainer.run(told);
    EXPECT_EQ(trainer.step(), 3u) << "rank " << ranks.rank();
    EXPECT_EQ(told.told_by, std::vector<std::size_t>(told.here ? 0 : 1, 1));
    const std::vector<std::uint64_t> saves = {2, 3};
    EXPECT_EQ(told.saves, ranks.rank() == 0 ? saves : std::vector<std::uint64_t>());
  });
}

// Rank 0 alone has the checkpoint.
TEST(TrainerRanks, AllScoreTheWeightsThatRankZeroGives) {
  const Config config = small_config({"train.shards=3", "train.ema=0.9"});
  Trainer<float> alone(config);
  alone.train_step();
  const Checkpoint first = alone.capture();
  const std::vector<double> expected = to_numbers(alone.evaluate(Split::test));
  test::on_ranks(3, [&](Ranks& ranks) {
    Trainer<float> trainer(config, nullptr, nullptr, ranks);
    TrainerHooks nobody;
    trainer.run(nobody);
    const std::vector<double> last = to_numbers(trainer.evaluate(Split::test));
    const Checkpoint* const given = ranks.rank() == 0 ? &first : nullptr;
    EXPECT_EQ(to_numbers(*trainer.evaluate(Split::test, nobody, given)), expected);
    EXPECT_EQ(to_numbers(trainer.evaluate(Split::test)), last);
    EXPECT_NE(last, expected);
  });
}

TEST(TrainerRanks, AllChooseTheSameBestStep) {
  const auto best_of = [](std::size_t size, const char* metric) {
    const Config config =
        small_config({"train.shards=3", "optim.lr=3", "schedule.warmup=12",
                      "train.evaluate_every=1", std::string("train.best_metric=") + metric});
    std::mutex mutex;
    std::vector<std::uint64_t> steps;
    test::on_ranks(size, [&](Ranks& ranks) {
      Trainer<float> trainer(config, nullptr, nullptr, ranks);
      TrainerHooks nobody;
      trainer.run(nobody);
      const std::lock_guard lock(mutex);
      steps.push_back(trainer.best_step());
    });
    EXPECT_EQ(steps, std::vector<std::uint64_t>(size, steps[0]));
    return steps[0];
  };
  for (const char* metric : {"loss", "accuracy"}) {
    const std::uint64_t expected = best_of(1, metric);
    EXPECT_LT(expected, 12u);
    for (const std::size_t size : {2, 3}) EXPECT_EQ(best_of(size, metric), expected);
  }
}

TEST(TrainerRanks, GathersTheGradientsOfAStep) {
  const Config config = small_config({"train.shards=3", "model.width=64"});
  std::mutex mutex;
  std::vector<std::vector<Tensor<float>>> found;
  for (const std::size_t size : {1, 2, 3}) {
    test::on_ranks(size, [&](Ranks& ranks) {
      Trainer<float> trainer(config, nullptr, nullptr, ranks);
      trainer.train_step();
      trainer.gather_gradients();
      std::vector<Tensor<float>> gradients;
      for (const auto& p : trainer.parameters()) gradients.push_back(p.variable.grad());
      const std::lock_guard lock(mutex);
      found.push_back(std::move(gradients));
    });
  }
  ASSERT_EQ(found.size(), 6u);
  for (const auto& gradients : found) EXPECT_EQ(gradients, found[0]);
}

// Shards give the loss, gradient norm and metrics of the whole batch, except for rounding.
TEST(TrainerRanks, ShardsHaveTheGradientOfTheWholeBatch) {
  for (const char* task : {"task.length=4", "train.head_diversity=0.5"}) {
    std::map<std::size_t, StepReport> reports;
    for (const std::size_t shards : {1, 3, 8}) {
      Trainer<double> trainer(small_config(
          {task, "model.dropout=0.2", "log.every=1", "train.shards=" + std::to_string(shards)}));
      reports[shards] = trainer.train_step();
    }
    for (const std::size_t shards : {3, 8}) {
      const StepReport &whole = reports[1], &parts = reports[shards];
      EXPECT_NEAR(parts.loss, whole.loss, 1e-13);
      EXPECT_NEAR(parts.grad_norm / whole.grad_norm, 1, 1e-12);
      EXPECT_NEAR(parts.head_diversity, whole.head_diversity, 1e-14);
      EXPECT_EQ(parts.tokens, whole.tokens);
      EXPECT_NEAR(parts.metrics.loss.mean(), whole.metrics.loss.mean(), 1e-13);
      EXPECT_NEAR(parts.metrics.loss.standard_error(), whole.metrics.loss.standard_error(), 1e-12);
      EXPECT_EQ(parts.metrics.accuracy.mean(), whole.metrics.accuracy.mean());
    }
  }
}

}  // namespace
}  // namespace xgrad
