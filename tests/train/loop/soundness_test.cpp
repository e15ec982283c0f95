// If an update left a NaN or infinity, the model is neither validated nor saved.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include <xgrad/train/loop/trainer.hpp>

#include "support/errors.hpp"
#include "train/small_run.hpp"

namespace xgrad {
namespace {

using Steps = std::vector<std::uint64_t>;

// Spoils the trainer after step 8, once.
struct Poison final : TrainerHooks {
  Poison(Trainer<float>& trainer, std::function<void(Trainer<float>&)> spoil)
      : trainer(trainer), spoil(std::move(spoil)) {}
  void on_step(const StepReport& r) override {
    last = r.step;
    if (r.step == 8 && spikes.empty()) spoil(trainer);
  }
  void on_failed_step(const StepReport& r, std::uint64_t s) override {
    spikes.push_back({r.step, s});
  }
  void on_checkpoint(const Checkpoint& c) override { saved.push_back(c.step); }
  bool stop() override { return last == stop_at; }
  bool take_save() override { return last == save_at; }

  Trainer<float>& trainer;
  std::function<void(Trainer<float>&)> spoil;
  std::uint64_t last = 0, stop_at = 0, save_at = 0;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> spikes;
  Steps saved;
};

void spoil_a_parameter(Trainer<float>& trainer) {
  trainer.parameters().begin()->variable.mutable_value().data()[0] = INFINITY;
}

// Each squares to more than float holds.
void spoil_the_optimizer(Trainer<float>& trainer) {
  Checkpoint state = trainer.capture();
  std::get<Tensor<float>>(state.optimizer.back().tensor).data()[0] = INFINITY;
  trainer.restore(state);
}

Config config_with(const std::string& on_spike, const std::vector<std::string>& more = {}) {
  std::vector<std::string> overrides = more;
  overrides.push_back("train.on_spike=" + on_spike);
  return test::small_config(overrides);
}

TEST(Soundness, WhatAnUpdateSpoiltIsNotSaved) {
  for (const auto& spoil : {spoil_a_parameter, spoil_the_optimizer}) {
    for (const std::string what : {"rollback", "skip", "stop"}) {
      Trainer<float> trainer(config_with(what));
      Poison hooks(trainer, spoil);
      if (what == "rollback") {
        trainer.run(hooks);
        EXPECT_EQ(hooks.spikes, (std::vector<std::pair<std::uint64_t, std::uint64_t>>{{9, 4}}));
        EXPECT_EQ(hooks.saved, (Steps{4, 8, 12}));
      } else {
        EXPECT_THROW(trainer.run(hooks), NumericError) << what;
        EXPECT_TRUE(hooks.spikes.empty()) << what;
        EXPECT_EQ(hooks.saved, (Steps{4})) << what;
      }
    }
  }
}

TEST(Soundness, NamesWhatTheOptimizerKeeps) {
  Trainer<float> trainer(config_with("stop"));
  Poison hooks(trainer, spoil_the_optimizer);
  const std::string said = test::message_of<NumericError>([&] { trainer.run(hooks); });
  EXPECT_TRUE(said.starts_with("step 9: exp_avg_sq.")) << said;
  EXPECT_NE(said.find(" is inf; nothing was updated"), std::string::npos) << said;
}

TEST(Soundness, NorWhenASaveIsAskedFor) {
  for (const bool stop : {true, false}) {
    Trainer<float> trainer(config_with("stop", {"train.evaluate_every=12"}));
    Poison hooks(trainer, spoil_a_parameter);
    (stop ? hooks.stop_at : hooks.save_at) = 8;
    EXPECT_THROW(trainer.run(hooks), NumericError);
    EXPECT_TRUE(hooks.saved.empty());
  }
}

// Weights that are finite, with outputs that are not.
void spoil_what_is_seen(Trainer<float>& trainer) {
  for (const Parameter<float>& p : trainer.parameters()) {
    if (p.name == "head.weight") p.variable.mutable_value().fill(3e38f);
  }
}

TEST(Soundness, AValidationWhoseLossIsNotFiniteEndsTheRun) {
  for (const std::string what : {"skip", "stop"}) {
    Trainer<float> trainer(config_with(what));
    Poison hooks(trainer, spoil_what_is_seen);
    EXPECT_EQ(test::message_of<NumericError>([&] { trainer.run(hooks); }),
              "step 8: the loss of the validation split is not finite");
    EXPECT_EQ(hooks.saved, (Steps{4}));
  }
}

TEST(Soundness, OrIsGoneBackFrom) {
  for (const std::uint64_t stop_at : {0, 8}) {
    Trainer<float> trainer(config_with("rollback"));
    Poison hooks(trainer, spoil_what_is_seen);
    hooks.stop_at = stop_at;
    trainer.run(hooks);
    EXPECT_EQ(hooks.spikes, (std::vector<std::pair<std::uint64_t, std::uint64_t>>{{8, 4}}));
    EXPECT_EQ(hooks.saved, stop_at == 0 ? (Steps{4, 8, 12}) : (Steps{4}));
    EXPECT_EQ(trainer.step(), stop_at == 0 ? 12u : 4u);
  }
}

}  // namespace
}  // namespace xgrad
