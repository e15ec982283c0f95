// The contents of a failed step's file, and its replay.
#include <xgrad/train/checkpoint/checkpoint.hpp>

#include <gtest/gtest.h>

#include <limits>

#include <xgrad/train/diagnose/trace.hpp>
#include <xgrad/train/loop/trainer.hpp>

#include "support/checkpoints.hpp"
#include "support/errors.hpp"
#include "support/gradients.hpp"
#include "train/small_run.hpp"

namespace xgrad {
namespace {

using test::small_config;

// A NaN or infinity that an update left is found before validation: the next step fails, and its
// file holds its own batch and random numbers.
TEST(FailedStep, AStepThatFailsBeforeItBeginsIsKeptWithItsOwnBatch) {
  const Config config =
      small_config({"train.evaluate_every=1", "train.accumulate=2", "model.dropout=0.2"});
  struct Spoil final : TrainerHooks {
    explicit Spoil(Trainer<float>& trainer) : trainer(trainer) {}
    void on_step(const StepReport& report) override {
      if (report.step != 3) return;
      trainer.parameters().at("head.weight").mutable_value().data()[0] =
          std::numeric_limits<float>::quiet_NaN();
    }
    std::string on_fatal_step(const Checkpoint& checkpoint) override {
      failed = checkpoint;
      return "";
    }
    Trainer<float>& trainer;
    std::optional<Checkpoint> failed;
  };
  Trainer<float> trainer(config);
  Spoil spoil(trainer);
  const std::string said = test::message_of<NumericError>([&] { trainer.run(spoil); });
  EXPECT_TRUE(said.starts_with("step 4: parameter head.weight[0, 0]")) << said;
  ASSERT_TRUE(spoil.failed);
  EXPECT_EQ(spoil.failed->step, 3u);
  EXPECT_EQ(failed_step_name(4), "fault-0000000004.h5");

  Trainer<float> same(config);
  for (int step = 0; step < 3; ++step) same.train_step();
  for (const char* name : {"epoch", "position"}) {
    EXPECT_EQ(state_value<std::int64_t>(*spoil.failed, name),
              state_value<std::int64_t>(same.capture(), name));
  }
  const std::vector<Batch> kept = batches_of(*spoil.failed), expected = same.hold_batch();
  ASSERT_EQ(kept.size(), expected.size());
  const Checkpoint read = from_hdf5(to_hdf5(*spoil.failed), "memory", CheckpointKind::failed_step);
  EXPECT_EQ(test::difference(read, *spoil.failed), "");
  for (std::size_t i = 0; i < kept.size(); ++i) {
    EXPECT_EQ(kept[i].ids, expected[i].ids);
    EXPECT_EQ(kept[i].targets, expected[i].targets);
  }
}

// The sum of a residual belongs to the sublayer whose output it adds, whatever the stream of the
// residuals came through before. The first sum is that of tokens and positions.
TEST(FailedStep, TheSumOfAResidualIsNamedByItsSublayer) {
  const std::vector<std::string> expected = {
      "embedding.position", "encoder.layers.0.self_attn.out_proj", "encoder.layers.0.linear2",
      "encoder.layers.1.self_attn.out_proj", "encoder.layers.1.linear2"};
  for (const char* dropout : {"0", "0.2"}) {
    Trainer<float> trainer(
        small_config({"model.layers=2", std::string("model.dropout=") + dropout}));
    const Checkpoint before = trainer.capture();
    std::vector<std::string> modules;
    for (const ReplayRow& row : replay(failed_step(before, trainer.hold_batch(), "none"))) {
      const bool sum = row.place.op == "add" || row.place.op == "dropout_add";
      if (sum && row.place.tensor == "output") modules.push_back(row.place.module);
    }
    EXPECT_EQ(modules, expected) << dropout;
  }
}

TEST(FailedStep, AHealthyStepStaysInItsBand) {
  for (const char* precision : {"float", "double"}) {
    const Config config = small_config(
        {std::string("train.precision=") + precision, "task.min_length=2", "model.dropout=0.2"});
    Checkpoint before;
    std::vector<Batch> batches;
    const auto take = [&]<class T>(Trainer<T>&& trainer) {
      before = trainer.capture();
      batches = trainer.hold_batch();
    };
    if (config.train.precision == "double") {
      take(Trainer<double>(config));
    } else {
      take(Trainer<float>(config));
    }
    const auto rows = replay(failed_step(before, batches, "none"));
    EXPECT_GE(rows.size(), 40u);
    double worst = 0;
    for (const ReplayRow& row : rows) {
      EXPECT_FALSE(row.leaves_band()) << to_string(row.place) << " " << row.difference;
      worst = std::max(worst, row.difference);
    }
    EXPECT_GT(worst, 0);
    EXPECT_LT(worst, precision[0] == 'f' ? 1e-4 : 1e-12);
  }
}

}  // namespace
}  // namespace xgrad
