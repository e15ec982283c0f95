// [train] dead_gradients_every: a run ends when no gradient reaches a parameter.
#include <xgrad/train/diagnose/trace.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include <xgrad/autograd/ops.hpp>
#include <xgrad/train/config/keys.hpp>
#include <xgrad/train/loop/trainer.hpp>

#include "support/checkpoints.hpp"
#include "support/errors.hpp"
#include "support/tensors.hpp"
#include "train/small_run.hpp"

namespace xgrad {
namespace {

using Names = std::vector<std::string>;

Names names_of(const std::vector<const Parameter<float>*>& parameters) {
  Names names;
  for (const Parameter<float>* p : parameters) names.push_back(p->name);
  return names;
}

TEST(DeadGradients, MissingOrZeroSinceTheLastLook) {
  Parameters<float> parameters(1);
  parameters.freeze([](const std::string& name) { return name == "a.frozen"; });
  const Scope<float> scope = parameters.root() / "a";
  const auto one = [](std::span<double> values, const Shape&, const Rng&) { values[0] = 1; };
  const Variable<float> live = scope.parameter("live", {3}, one),
                        zero = scope.parameter("zero", {3}, one),
                        missing = scope.parameter("missing", {3}, one);
  scope.parameter("frozen", {3}, one);
  DeadGradients<float> dead(parameters);
  const auto step = [&](float first, float last) {
    parameters.zero_grad();
    const Variable<float> factors(test::tensor<float>({3}, {first, 0, last}));
    add(sum(mul(live, factors)), sum(mul(zero, Variable<float>(zeros<float>({3}))))).backward();
    dead.observe();
  };
  step(0, 1e-45f);  // the least number above 0
  EXPECT_EQ(names_of(dead.take()), (Names{"a.zero", "a.missing"}));
  step(0, 0);
  step(-1, 0);
  step(-0.0f, 0);
  EXPECT_EQ(names_of(dead.take()), (Names{"a.zero", "a.missing"})) << "one step is enough";
  step(-0.0f, 0);
  EXPECT_EQ(names_of(dead.take()), (Names{"a.live", "a.zero", "a.missing"}));
  EXPECT_EQ(names_of(dead.take()).size(), 3u) << "no step";
}

Config config_of(const std::string& task, const Names& overrides) {
  return parse_config("task = {" + task + "}\n" + R"(
    model = {width = 8, heads = 2, dropout = 0, attention_dropout = 0}
    train = {steps = 12, batch = 8, evaluate_every = 4}
  )",
                      "small.toml", overrides);
}

// Without a layer the class token sees no other token.
Config blind_config(const std::string& override) {
  return config_of("name = 'majority', length = 16", {"model.layers=0", override});
}

const std::string kSaid =
    "step 1: no gradient reaches embedding.token.weight; nothing was updated\n"
    "  embedding.token.weight: op 3 concat in embedding has a gradient, but passes on only zeros\n"
    "  freeze such parameters in optim.groups, or set train.dead_gradients_every = 0";

struct Witness final : TrainerHooks {
  void on_step(const StepReport& report) override { last = report.step; }
  std::string on_fatal_step(const Checkpoint& checkpoint) override {
    failed = checkpoint;
    return "";
  }
  std::uint64_t last = 0;
  std::optional<Checkpoint> failed;
};

TEST(DeadGradients, EndTheRunAfterItsFirstStep) {
  for (const char* what : {"stop", "skip", "rollback"}) {
    const Config config = blind_config(std::string("train.on_spike=") + what);
    Trainer<float> trainer(config);
    Witness witness;
    EXPECT_EQ(test::message_of<NumericError>([&] { trainer.run(witness); }), kSaid) << what;
    ASSERT_TRUE(witness.failed);
    EXPECT_EQ(state_value<std::string>(*witness.failed, "fault"), kSaid);
    Checkpoint now = trainer.capture(), fresh = Trainer<float>(config).capture();
    now.state["position"] = fresh.state["position"];  // the data alone have been read
    EXPECT_EQ(test::difference(now, fresh), "");
  }
}

TEST(DeadGradients, MayBeAllowedOrFrozen) {
  for (const char* key : {"train.dead_gradients_every=0",
                          "optim.groups=[{match='embedding.token.weight', freeze=true}]"}) {
    Trainer<float> trainer(blind_config(key));
    Witness witness;
    EXPECT_NO_THROW(trainer.run(witness)) << key;
    EXPECT_EQ(witness.last, 12u);
  }
}

TEST(DeadGradients, WithMicroBatchesTheyAreDeadInAll) {
  Trainer<float> trainer(blind_config("train.accumulate=3"));
  const std::string said = test::message_of<NumericError>([&] { trainer.train_step(); });
  EXPECT_TRUE(said.starts_with("step 1: no gradient reaches embedding.token.weight;")) << said;
}

// Units that die in step 6 are found by the check of step 15, since they lived after that of 5.
TEST(DeadGradients, AreFoundByTheSecondCheckAfterTheirDeath) {
  struct Killer final : TrainerHooks {
    explicit Killer(Trainer<float>& trainer) : trainer(trainer) {}
    void on_step(const StepReport& report) override {
      last = report.step;
      if (last != 6) return;
      const auto& bias = trainer.parameters().at("encoder.layers.0.linear1.bias");
      bias.mutable_value() = full<float>(bias.shape(), -1e6f);
    }
    Trainer<float>& trainer;
    std::uint64_t last = 0;
  };
  for (const char* recompute : {"train.recompute=false", "train.recompute=true"}) {
    Trainer<float> trainer(test::small_config(
        {"model.activation=relu", "train.dead_gradients_every=5", "train.steps=40", recompute}));
    Killer killer(trainer);
    const std::string said = test::message_of<NumericError>([&] { trainer.run(killer); });
    EXPECT_EQ(killer.last, 14u);
    EXPECT_TRUE(said.starts_with(
        "step 15: no gradient reaches encoder.layers.0.linear1.weight and 4 more; nothing was "
        "updated\n  encoder.layers.0.linear1.weight and 3 more: op 10 relu in "))
        << said;
    EXPECT_NE(said.find("\n  encoder.layers.0.linear2.weight: op 12 linear in "), std::string::npos)
        << said;
  }
}

TEST(DeadGradients, ChecksDoNotChangeTheBits) {
  const auto trained = [](const std::string& every) {
    Trainer<float> trainer(test::small_config({"train.dead_gradients_every=" + every}));
    TrainerHooks nobody;
    trainer.run(nobody);
    return to_hdf5(trainer.capture());
  };
  EXPECT_EQ(trained("1"), trained("0"));
  test::expect_the_same_bits_after_a_stop(test::small_config({"train.dead_gradients_every=1"}));
}

// A copy of each token, with one logit above the others by `margin`.
void solve(const Parameters<float>& parameters, float margin, float small) {
  Tensor<float>& tokens = parameters.at("embedding.token.weight").mutable_value();
  Tensor<float>& head = parameters.at("head.weight").mutable_value();
  Tensor<float>& bias = parameters.at("head.bias").mutable_value();
  std::fill_n(tokens.data(), tokens.size(), 0.0f);
  std::fill_n(head.data(), head.size(), 0.0f);
  std::fill_n(bias.data(), bias.size(), 0.0f);
  for (std::size_t i = 0; i < 8; ++i) {
    tokens(i, i) = margin / small;
    head(i, i) = small;
  }
}

// The gradient of the logits is 0, or vanishes on its way. A larger one is seen.
TEST(DeadGradients, AreNoneOnceTheTaskIsSolved) {
  Trainer<float> trainer(
      config_of("name = 'copy', length = 8, symbols = 8",
                {"model.layers=0", "model.final_norm=false", "model.positions=none",
                 "optim.name=sgd", "optim.lr=1e-30", "train.dead_gradients_every=1"}));
  for (const auto& [margin, small] : {std::pair(200.0f, 1.0f), {85.0f, 1e-10f}}) {
    solve(trainer.parameters(), margin, small);
    const StepReport report = trainer.train_step();
    EXPECT_LT(report.loss, 1e-6);
    EXPECT_EQ(report.grad_norm > 0, margin < 100) << report.grad_norm;
    const Tensor<float>& gradient = trainer.parameters().at("embedding.token.weight").grad();
    EXPECT_TRUE(std::all_of(gradient.data(), gradient.data() + gradient.size(),
                            [](float g) { return g == 0; }));
  }
  Tensor<float>& head = trainer.parameters().at("head.weight").mutable_value();
  std::fill_n(head.data(), head.size(), 0.0f);
  const std::string said = test::message_of<NumericError>([&] { trainer.train_step(); });
  EXPECT_TRUE(said.starts_with("step 3: no gradient reaches embedding.token.weight; ")) << said;
  EXPECT_NE(said.find(": op 2 linear in head has a gradient, but"), std::string::npos) << said;
}

// Every word of every key of [model], with every kind of input and output, trains.
TEST(DeadGradients, NoSettingOfAModelHasThem) {
  const std::vector<std::pair<std::string, Names>> tasks = {
      {"name = 'reverse', length = 4", {"model.qkv_bias=true"}},
      {"name = 'majority', length = 16", {"model.qkv_bias=true", "model.out_proj=false"}},
      {"name = 'distinct', length = 4", {"model.kind=encoder_decoder"}},
      {"name = 'shapes'", {}},
      {"name = 'neighbours'", {"model.mask=adjacency"}},
      {"name = 'next_value'", {"model.kind=window_mlp", "model.pool=mean"}}};
  std::size_t trained = 0;
  const auto train = [&](const std::string& task, const Names& overrides) {
    std::optional<Trainer<float>> trainer;
    try {
      trainer.emplace(config_of(task, overrides));
    } catch (const ConfigError&) {  // the setting does not go with the task or the kind of model
      return;
    }
    for (int step = 0; step < 3; ++step) trainer->train_step();
    ++trained;
  };
  for (const auto& [task, overrides] : tasks) {
    for (const detail::ConfigKey& key : detail::config_keys()) {
      if (key.section != "model") continue;
      for (const std::string& word : key.spec.choices) {
        Names all = overrides;
        all.push_back("train.dead_gradients_every=1");
        all.push_back(key.name() + "=" + word);
        EXPECT_EQ(test::message_of<NumericError>([&] { train(task, all); }), "none")
            << task << key.name() << " = " << word;
      }
    }
  }
  EXPECT_GE(trained, 150u);
}

}  // namespace
}  // namespace xgrad
