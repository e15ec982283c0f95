// Which streams of random numbers training draws from.
#include <gtest/gtest.h>

#include <functional>

#include <xgrad/layers/module.hpp>
#include <xgrad/train/loop/trainer.hpp>

#include "streams/draws.hpp"

namespace xgrad {
namespace {

using test::drawn;

// Of the streams that dropout drew from, those that something else drew from.
std::set<std::uint64_t> shared_streams() {
  std::set<std::uint64_t> shared;
  for (const auto& [what, keys] : drawn) {
    if (what == "dropout") continue;
    for (const std::uint64_t key : drawn["dropout"]) {
      if (keys.contains(key)) shared.insert(key);
    }
  }
  return shared;
}

Config config_of(const std::vector<std::string>& overrides) {
  return parse_config(
      "[task]\nname = 'reverse'\nlength = 4\n"
      "[model]\nwidth = 8\nheads = 2\nlayers = 2\ndropout = 0.1\nattention_dropout = 0.1\n"
      "[train]\nsteps = 4\nbatch = 8\nevaluate_every = 2\n",
      "streams.toml", overrides);
}

const std::vector<std::vector<std::string>> kRuns = {
    {},
    {"train.recompute=true", "train.accumulate=2"},
    {"train.bucket=2", "train.head_diversity=0.1", "model.norm=sandwich"},
    {"model.activation=relu", "model.score=cosine"},
    {"model.stochastic_depth=0.3", "train.dropout_start=0.5", "model.init=kaiming_uniform"},
    {"model.score=additive", "model.attention_activation=sparsemax"},
    {"model.kind=mlp"},
    {"model.kind=window_mlp", "model.window=3"},
    {"train.precision=double"},
};

}  // namespace

TEST(Streams, OfDropoutAreDrawnFromByNothingElse) {
  for (const auto& overrides : kRuns) {
    SCOPED_TRACE(testing::PrintToString(overrides));
    test::clear_draws();
    const Config config = config_of(overrides);
    TrainerHooks hooks;
    if (config.train.precision == "double") {
      Trainer<double>(config).run(hooks);
    } else {
      Trainer<float>(config).run(hooks);
    }
    EXPECT_GE(drawn["dropout"].size(), 4u);  // one a step at least
    EXPECT_GT(drawn["permutation"].size(), 0u);
    EXPECT_GT(drawn["uniform"].size(), 0u);  // of initial values
    EXPECT_GT(drawn["normal"].size(), 0u);
    EXPECT_GT(drawn["child"].size(), 0u);
    EXPECT_EQ(shared_streams(), std::set<std::uint64_t>{});
  }
}

// One that draws from the stream of a mask is found.
TEST(Streams, AreToldApart) {
  const DropoutOptions dropout = Context::train(1, 0).dropout(0.5, 7);
  const std::vector<std::function<void(const Rng&)>> draws = {
      [](const Rng& rng) { rng.uniform(0); }, [](const Rng& rng) { rng.below(5, 0); },
      [](const Rng& rng) { rng.normal(0); },  [](const Rng& rng) { rng.uniforms(3); },
      [](const Rng& rng) { rng.normals(3); }, [](const Rng& rng) { rng.permutation(3); },
      [](const Rng& rng) { rng.words(0); },   [](const Rng& rng) { rng / 1; },
      [](const Rng& rng) { rng / "name"; },
  };
  for (const auto& draw : draws) {
    test::clear_draws();
    xgrad::dropout(Variable<float>(full<float>({2, 3}, 1)), dropout);
    EXPECT_TRUE(shared_streams().empty());
    draw(*dropout.rng);
    EXPECT_EQ(shared_streams(), std::set<std::uint64_t>{dropout.rng->key()});
  }
}

}  // namespace xgrad
