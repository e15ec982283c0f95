// I3: whatever is not finite is found in the same step, and named; nothing is updated.
#include <gtest/gtest.h>

#include <limits>

#include <xgrad/autograd/element.hpp>
#include <xgrad/autograd/observer.hpp>
#include <xgrad/train/checkpoint/failed_step.hpp>
#include <xgrad/train/inspect/replay.hpp>
#include <xgrad/train/loop/trainer.hpp>

#include "support/checkpoints.hpp"
#include "support/gradients.hpp"

namespace xgrad {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

Config config_with(const std::vector<std::string>& overrides = {}) {
  return parse_config(R"(
    task = {name = "reverse", length = 4}
    model = {width = 8, heads = 2, layers = 1, dropout = 0, attention_dropout = 0}
    train = {steps = 12, batch = 8, evaluate_every = 4}
    log.every = 1
  )",
                      "small.toml", overrides);
}

// Writes a number into what the n-th op of a step gives, forward or backward, while it is armed.
struct Planter final : OpObserver {
  void begin(const char* name) override {
    if (std::string_view(name) == "model") count = 0;
  }
  void end(const OpCall& call) override {
    if (call.kind == OpCall::Kind::region || !armed) return;
    if (call.kind != kind) return;
    if (++count != at) return;
    const void* target = call.result.value;
    for (const Operand& x : call.inputs) {
      if (kind == OpCall::Kind::backward && target == nullptr) target = x.value;
    }
    if (target == nullptr) return;  // a derivative that nobody wanted
    op = call.name;
    auto& tensor = *static_cast<Tensor<float>*>(const_cast<void*>(target));
    tensor.data()[tensor.size() / 2] = value;
  }

  OpCall::Kind kind = OpCall::Kind::forward;
  std::size_t at = 0, count = 0;
  float value = kNan;
  bool armed = false;
  std::string op;  // that the number was planted in
};

// Arms the planter for one step, and remembers what happened.
struct Watch final : TrainerHooks {
  Watch(Planter& planter, std::uint64_t step) : planter(planter), step(step) {
    planter.armed = step == 1;
  }
  void on_step(const StepReport& report) override {
    steps.push_back(report.step);
    planter.armed = report.step + 1 == step;
  }
  void on_checkpoint(const Checkpoint& checkpoint) override { saves.push_back(checkpoint); }
  void on_spike(const StepReport& report, std::uint64_t next) override {
    spikes.push_back({report.step, next});
    if (again_and_again) return;
    planter.armed = false;
    step = 0;  // never again
  }
  void on_fault(const Checkpoint& checkpoint) override { failed = checkpoint; }

  Planter& planter;
  std::uint64_t step;
  bool again_and_again = false;
  std::vector<std::uint64_t> steps;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> spikes;
  std::vector<Checkpoint> saves;
  std::optional<Checkpoint> failed;
};

std::size_t calls_of_a_step(OpCall::Kind kind) {
  Trainer<float> trainer(config_with());
  Planter planter;
  planter.kind = kind;
  planter.armed = true;
  const Observing observing(planter);
  trainer.train_step();
  return planter.count;
}

Checkpoint after(std::uint64_t steps) {
  Trainer<float> trainer(config_with());
  for (std::uint64_t s = 0; s < steps; ++s) trainer.train_step();
  return trainer.capture();
}

// Runs into the planted number, and returns the message.
std::string run_into(Planter& planter, std::uint64_t step) {
  Trainer<float> trainer(config_with());
  Watch watch(planter, step);
  std::string said;
  {
    const Observing observing(planter);
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

TEST(Faults, I3_EveryOpsOutput) {
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

TEST(Faults, I3_EveryOpsGradient) {
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
TEST(Faults, I3_EveryParameter) {
  const Trainer<float> like(config_with());
  for (const Parameter<float>& any : like.parameters()) {
    for (const float value : {kNan, -kInf}) {
      Trainer<float> trainer(config_with());
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

TEST(Faults, NamesModuleAndIndex) {
  Planter planter;
  Trainer<float> trainer(config_with());
  planter.armed = true;
  std::vector<std::string> names;
  for (planter.at = 1; planter.at <= calls_of_a_step(OpCall::Kind::forward); ++planter.at) {
    const Observing observing(planter);
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
TEST(Faults, OneThatIsNotFoundAgain) {
  struct Once final : OpObserver {
    void end(const OpCall& call) override {
      if (call.kind != OpCall::Kind::forward || done) return;
      done = true;
      static_cast<Tensor<float>*>(const_cast<void*>(call.result.value))->data()[0] = kNan;
    }
    bool done = false;
  } once;
  Trainer<float> trainer(config_with());
  const Observing observing(once);
  const std::string said = test::message_of<NumericError>([&] { trainer.train_step(); });
  EXPECT_NE(said.find("a second run of the step is finite"), std::string::npos) << said;
}

TEST(Faults, TheFailedStepIsKeptAndReplayed) {
  const Config config = config_with({"optim.name=sgd", "optim.lr=1e30", "optim.weight_decay=0",
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

// The step is passed over: no update, no entry, and the next batch next.
TEST(Spikes, Skip) {
  Planter planter;
  planter.at = 3;
  Trainer<float> trainer(config_with({"train.on_spike=skip"}));
  Watch watch(planter, 6);
  const Observing observing(planter);
  trainer.run(watch);
  EXPECT_EQ(watch.spikes, (std::vector<std::pair<std::uint64_t, std::uint64_t>>{{6, 6}}));
  EXPECT_EQ(watch.steps, (std::vector<std::uint64_t>{1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12}));
  EXPECT_EQ(state_value<std::int64_t>(watch.saves.back(), "optimizer_steps"), 11);
  EXPECT_EQ(watch.saves.size(), 3u);
}

// Back to the save of step 4, and on with the batches that come after the bad one.
TEST(Spikes, Rollback) {
  Planter planter;
  planter.at = 3;
  Trainer<float> trainer(config_with({"train.on_spike=rollback"}));
  Watch watch(planter, 6);
  const Observing observing(planter);
  trainer.run(watch);
  EXPECT_EQ(watch.spikes, (std::vector<std::pair<std::uint64_t, std::uint64_t>>{{6, 4}}));
  EXPECT_EQ(watch.steps, (std::vector<std::uint64_t>{1, 2, 3, 4, 5, 5, 6, 7, 8, 9, 10, 11, 12}));
  EXPECT_EQ(watch.saves.size(), 3u);
  EXPECT_EQ(state_value<std::int64_t>(watch.saves.back(), "position"), 14 * 8);
  EXPECT_EQ(state_value<std::int64_t>(watch.saves.back(), "optimizer_steps"), 12);
}

TEST(Spikes, EndTheRunWhenTheyComeAgainAndAgain) {
  for (const char* what : {"skip", "rollback"}) {
    Planter planter;
    planter.at = 3;
    Trainer<float> trainer(config_with({std::string("train.on_spike=") + what, "train.steps=100"}));
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

TEST(Spikes, ALargeGradientIsOne) {
  Planter planter;
  planter.kind = OpCall::Kind::backward;
  planter.at = 2;
  planter.value = 1e6f;
  Trainer<float> trainer(config_with({"train.on_spike=skip", "train.spike=50", "train.steps=40"}));
  Watch watch(planter, 30);
  const Observing observing(planter);
  trainer.run(watch);
  EXPECT_EQ(watch.spikes.size(), 1u);
  EXPECT_EQ(watch.spikes.at(0).first, 30u);
  EXPECT_EQ(state_value<std::int64_t>(watch.saves.back(), "spike_count"), 39);
}

TEST(Spikes, RunsGoOnToTheBit) {
  for (const char* what : {"skip", "rollback"}) {
    const Config config = config_with({std::string("train.on_spike=") + what, "train.spike=1.0001",
                                       "train.batch=2", "train.steps=40", "train.save_every=5"});
    struct Keep final : TrainerHooks {
      void on_checkpoint(const Checkpoint& c) override { saves.push_back(c); }
      void on_spike(const StepReport&, std::uint64_t) override { ++spikes; }
      std::vector<Checkpoint> saves;
      int spikes = 0;
    };
    Keep whole;
    Trainer<float> straight(config);
    try {
      straight.run(whole);
    } catch (const NumericError&) {  // after ten in a row
    }
    EXPECT_GT(whole.spikes, 0) << what;
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
