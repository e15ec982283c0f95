// I3: whatever is not finite is found in the same step, and named; nothing is updated.
#include <gtest/gtest.h>

#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/diagnose/trace.hpp>

#include "support/checkpoints.hpp"
#include "support/errors.hpp"
#include "support/gradients.hpp"
#include "train/loop/planter.hpp"

namespace xgrad {
namespace {

using test::kInf;
using test::kNan;
using test::planted_config;
using test::Planter;
using test::Watch;

std::size_t calls_of_a_step(OpCall::Kind kind) {
  Trainer<float> trainer(planted_config());
  Planter planter;
  planter.kind = kind;
  planter.armed = true;
  const ScopedObserver observing(planter);
  trainer.train_step();
  return planter.count;
}

Checkpoint after(std::uint64_t steps) {
  Trainer<float> trainer(planted_config());
  for (std::uint64_t s = 0; s < steps; ++s) trainer.train_step();
  return trainer.capture();
}

// Runs into the planted number, and returns the message.
std::string run_into(Planter& planter, std::uint64_t step) {
  Trainer<float> trainer(planted_config());
  Watch watch(planter, step);
  std::string said;
  {
    const ScopedObserver observing(planter);
    said = test::message_of<NumericError>([&] { trainer.run(watch); });
  }
  if (planter.op.empty()) return "";
  // The data alone have been read.
  Checkpoint now = trainer.capture(), expected = after(step - 1);
  for (Checkpoint* checkpoint : {&now, &expected}) checkpoint->state.clear();
  EXPECT_EQ(test::difference(now, expected), "");
  EXPECT_EQ(watch.saves.size(), (step - 1) / 4);
  EXPECT_TRUE(watch.failed);
  EXPECT_EQ(watch.steps.size(), step - 1);
  return said;
}

TEST(FailedSteps, I3_EveryOpsOutput) {
  const std::size_t ops = calls_of_a_step(OpCall::Kind::forward);
  ASSERT_GE(ops, 14u);
  for (const std::uint64_t step : {1, 2, 7}) {
    for (std::size_t op = 1; op <= ops; ++op) {
      for (const float value : {kNan, kInf}) {
        Planter planter;
        planter.at = op;
        planter.value = value;
        const std::string said = run_into(planter, step);
        const std::string start = "step " + std::to_string(step) + ": ",
                          place =
                              "\n  first not finite: op " + std::to_string(op) + " " + planter.op;
        EXPECT_TRUE(said.starts_with(start)) << said;
        EXPECT_NE(said.find("; nothing was updated"), std::string::npos) << said;
        EXPECT_NE(said.find(place), std::string::npos) << said << place;
        EXPECT_NE(said.find(std::isnan(value) ? " is nan" : " is inf"), std::string::npos) << said;
      }
    }
  }
}

TEST(FailedSteps, I3_EveryOpsGradient) {
  const std::size_t ops = calls_of_a_step(OpCall::Kind::backward);
  std::size_t planted = 0;
  for (const std::uint64_t step : {1, 5}) {
    for (std::size_t op = 1; op <= ops; ++op) {
      Planter planter;
      planter.kind = OpCall::Kind::backward;
      planter.at = op;
      const std::string said = run_into(planter, step);
      if (planter.op.empty()) continue;
      ++planted;
      EXPECT_NE(said.find(" the gradient norm is nan; nothing was updated"), std::string::npos)
          << said;
      EXPECT_NE(said.find(" " + planter.op + " in "), std::string::npos) << said;
      EXPECT_NE(said.find(": gradient of "), std::string::npos) << said;
    }
  }
  EXPECT_GE(planted, 28u);
}

// Even where no example of the batch reads it.
TEST(FailedSteps, I3_EveryParameter) {
  const Trainer<float> like(planted_config());
  for (const Parameter<float>& any : like.parameters()) {
    for (const float value : {kNan, -kInf}) {
      Trainer<float> trainer(planted_config());
      trainer.train_step();
      Tensor<float>& x = trainer.parameters().at(any.name).mutable_value();
      x.data()[x.size() - 1] = value;
      const std::string said = test::message_of<NumericError>([&] { trainer.train_step(); });
      EXPECT_TRUE(said.starts_with("step 2: parameter " + any.name + "[")) << said;
      EXPECT_TRUE(said.ends_with("; nothing was updated")) << said;
      EXPECT_EQ(trainer.step(), 1u);
    }
  }
}

TEST(FailedSteps, NamesModuleAndIndex) {
  Planter planter;
  Trainer<float> trainer(planted_config());
  planter.armed = true;
  std::vector<std::string> names;
  for (planter.at = 1; planter.at <= calls_of_a_step(OpCall::Kind::forward); ++planter.at) {
    const ScopedObserver observing(planter);
    names.push_back(test::message_of<NumericError>([&] { trainer.train_step(); }));
  }
  const auto has = [&](const std::string& text) {
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      return name.find(text) != std::string::npos;
    });
  };
  EXPECT_TRUE(has(" self_attention in encoder.layers.0.self_attn: output[")) << names[6];
  EXPECT_TRUE(has(" in head: output[4, 0, 0] of (8, 4, ")) << names.back();
}

// A fault of the machine does not come again.
TEST(FailedSteps, OneThatIsNotFoundAgain) {
  struct Once final : OpObserver {
    void end(const OpCall& call) override {
      if (call.kind != OpCall::Kind::forward || done) return;
      done = true;
      static_cast<Tensor<float>*>(const_cast<void*>(call.result.value))->data()[0] = kNan;
    }
    bool done = false;
  } once;
  Trainer<float> trainer(planted_config());
  const ScopedObserver observing(once);
  const std::string said = test::message_of<NumericError>([&] { trainer.train_step(); });
  EXPECT_NE(said.find("a second run of the step is finite"), std::string::npos) << said;
}

TEST(FailedSteps, TheFailedStepIsKeptAndReplayed) {
  const Config config = planted_config({"optim.name=sgd", "optim.lr=1e30", "optim.weight_decay=0",
                                        "train.clip=0", "train.accumulate=2"});
  Trainer<float> trainer(config);
  Planter unarmed;
  Watch watch(unarmed, 0);
  const std::string said = test::message_of<NumericError>([&] { trainer.run(watch); });
  ASSERT_TRUE(watch.failed) << said;
  const std::string bytes = to_hdf5(*watch.failed);
  EXPECT_THROW(from_hdf5(bytes, "f.h5"), CheckpointError);
  EXPECT_THROW(from_hdf5(to_hdf5(trainer.capture()), "c.h5", CheckpointKind::failed_step),
               CheckpointError);
  const Checkpoint failed = from_hdf5(bytes, "f.h5", CheckpointKind::failed_step);
  EXPECT_EQ(state_value<std::string>(failed, "fault"), said);
  const std::vector<Batch> batches = batches_of(failed);
  ASSERT_EQ(batches.size(), 2u);
  EXPECT_EQ(batches[0].ids.shape(), (Shape{8, 4}));

  const std::vector<ReplayRow> rows = replay(failed);
  const auto first =
      std::find_if(rows.begin(), rows.end(), [](const ReplayRow& r) { return r.leaves_band(); });
  ASSERT_NE(first, rows.end());
  const auto infinite =
      std::find_if(rows.begin(), rows.end(), [](const ReplayRow& r) { return !r.finite; });
  ASSERT_NE(infinite, rows.end());
  EXPECT_TRUE(infinite->reference_finite) << "double holds what float does not";
  EXPECT_NE(said.find(to_string(infinite->place) + index_text(infinite->shape, infinite->worst)),
            std::string::npos)
      << said << to_string(infinite->place);
}

}  // namespace
}  // namespace xgrad
