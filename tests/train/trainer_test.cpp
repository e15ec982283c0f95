#include <xgrad/train/trainer.hpp>

#include <gtest/gtest.h>

#include "support/gradients.hpp"

namespace xgrad {
namespace {

Config small_config() {
  return parse_config(R"(
    [task]
    name = "reverse"
    length = 4
    [model]
    width = 8
    heads = 2
    layers = 1
    [train]
    steps = 12
    batch = 8
    evaluate_every = 4
  )",
                      "small.toml", {});
}

// Remembers what a run did, and stops it after some steps.
struct Diary final : TrainerHooks {
  void on_step(const StepReport& report) override { steps.push_back(report); }
  void on_evaluation(std::uint64_t step, const Metrics&) override { evaluations.push_back(step); }
  void on_checkpoint(const Checkpoint& checkpoint) override { saves.push_back(checkpoint); }
  bool stop() override { return steps.size() == stop_after; }

  std::vector<StepReport> steps;
  std::vector<std::uint64_t> evaluations;
  std::vector<Checkpoint> saves;
  std::size_t stop_after = 0;
};

TEST(Trainer, EvaluatesAndSavesWhenTheConfigSays) {
  Trainer<float> trainer(small_config());
  Diary diary;
  trainer.run(diary);
  EXPECT_TRUE(trainer.finished());
  EXPECT_EQ(diary.evaluations, (std::vector<std::uint64_t>{4, 8, 12}));
  ASSERT_EQ(diary.saves.size(), 3u);
  EXPECT_EQ(diary.saves.back().step, 12u);
}

TEST(Trainer, FromAnyCheckpointTheBitsAreTheSame) {
  Trainer<float> whole(small_config());
  Diary diary;
  whole.run(diary);
  const std::string last = to_hdf5(whole.capture());
  for (std::size_t k = 1; k < 12; ++k) {
    Trainer<float> first(small_config());
    Diary stopped;
    stopped.stop_after = k;
    first.run(stopped);
    ASSERT_EQ(stopped.saves.back().step, k);
    Trainer<float> second(small_config());
    second.restore(from_hdf5(to_hdf5(stopped.saves.back()), "memory"));
    Diary rest;
    second.run(rest);
    EXPECT_EQ(to_hdf5(second.capture()), last) << "stopped after " << k;
  }
}

TEST(Trainer, UpdatesNothingWhenTheLossIsNotFinite) {
  Config config = small_config();
  config.optim.name = "sgd";
  config.optim.lr = 1e30;
  config.optim.weight_decay = 0;
  config.train.clip = 0;
  Trainer<float> trainer(config);
  Diary diary;
  EXPECT_TRUE(test::throws_with<NumericError>([&] { trainer.run(diary); }, "nothing was updated"));
  ASSERT_FALSE(diary.steps.empty());
  // The same steps again, stopped just before the one that failed.
  Trainer<float> again(config);
  Diary until;
  until.stop_after = diary.steps.size();
  again.run(until);
  auto expected = again.parameters().begin();
  for (const Parameter<float>& p : trainer.parameters()) {
    EXPECT_TRUE(test::same_bits(p.variable.value(), expected->variable.value())) << p.name;
    ++expected;
  }
}

TEST(Trainer, ACheckpointOfAnotherModelChangesNothing) {
  Config wider = small_config();
  wider.model.width = 16;
  Trainer<float> other(wider);
  Trainer<float> trainer(small_config());
  const std::string before = to_hdf5(trainer.capture());
  EXPECT_THROW(trainer.restore(other.capture()), CheckpointError);
  EXPECT_EQ(to_hdf5(trainer.capture()), before);
}

TEST(Trainer, LearnsInDoubleToo) {
  Config config = small_config();
  config.train.steps = 60;
  Trainer<double> trainer(config);
  Diary diary;
  trainer.run(diary);
  EXPECT_LT(diary.steps.back().loss, diary.steps.front().loss);
}

}  // namespace
}  // namespace xgrad
