#include <xgrad/train/model/build.hpp>

#include <gtest/gtest.h>
#include <support/errors.hpp>

#include <cmath>
#include <functional>

#include <xgrad/autograd/memory/memory.hpp>
#include <xgrad/train/config/keys.hpp>
#include <xgrad/train/inspect/attention_study.hpp>
#include <xgrad/train/loop/trainer.hpp>

#include "support/gradients.hpp"

namespace xgrad {
namespace {

// Logits of the model of this config, in evaluation, with no parameter where it started.
Tensor<double> logits(const Config& config) {
  TaskShape shape{.output = OutputKind::sequence, .vocabulary = 5, .max_length = 4, .classes = 3};
  if (config.model.positions == "learned_2d") {
    shape.input = InputKind::image;
    shape.height = shape.width = 8;
    shape.channels = 1;
  }
  if (config.model.kind == "encoder_decoder") {
    shape.output = OutputKind::generated;
    shape.max_outputs = 3;
  }
  shape.graph = config.model.mask == "adjacency";
  Parameters<double> parameters(1);
  const auto model = make_model<double>(config, shape, parameters);
  for (const Parameter<double>& p : parameters) {
    p.variable.mutable_value() +=
        test::random_tensor(p.variable.shape(), Rng(2) / p.name, -0.5, 0.5);
  }
  const Ids ids = test::random_ids({2, 4}, Rng(3), 5);
  const Ids outputs = test::random_ids({2, 3}, Rng(4), 3);
  auto edges = std::make_shared<Mask>(full<std::uint8_t>({2, 4, 4}, 1));
  (*edges)(0, 1, 2) = (*edges)(0, 2, 1) = (*edges)(1, 0, 3) = (*edges)(1, 3, 0) = 0;
  ModelInput<double> input;
  input.ids = &ids;
  input.outputs = &outputs;
  input.adjacency = edges;
  if (shape.input == InputKind::tokens) return (*model)(input, {}).value();
  const Tensor<double> image = test::random_tensor({2, 8, 8, 1}, Rng(3));
  return (*model)({nullptr, &image, nullptr}, {}).value();
}

// Each word that the table of keys allows makes a model, and not the model of another word.
TEST(Build, EveryWordOfEveryModelKeyIsAModelOfItsOwn) {
  int words = 0;
  for (const detail::ConfigKey& key : detail::config_keys()) {
    if (key.section != "model") continue;
    std::vector<Tensor<double>> seen;
    for (const std::string& word : key.spec.choices) {
      Config config;
      // There is no class token without attention, nor where it would see itself alone.
      if (key.spec.name == "kind" || key.spec.name == "mask") config.model.pool = "mean";
      key.set(config, word);
      const Tensor<double> y = logits(config);
      for (const Tensor<double>& other : seen) {
        EXPECT_FALSE(test::tensors_near(y, other, 1e-7)) << key.name() << " = " << word;
      }
      seen.push_back(y);
      ++words;
    }
  }
  EXPECT_GE(words, 16);
}

std::string message_of(const Config& config, const TaskShape& shape) {
  Parameters<float> parameters(1);
  return test::message_of<ConfigError>([&] { make_model<float>(config, shape, parameters); });
}

// S2.9, S2.10, S4.13 to S4.15, S4.19: every key of attention is part of the model.
TEST(Build, EveryKeyOfAttentionReachesTheModel) {
  const Tensor<double> before = logits({});
  const std::vector<std::function<void(ModelConfig&)>> changes = {
      [](ModelConfig& m) { m.exclude_self = true; }, [](ModelConfig& m) { m.scale = 0.7; },
      [](ModelConfig& m) { m.temperature = 0.5; },   [](ModelConfig& m) { m.log_scale = true; },
      [](ModelConfig& m) { m.out_proj = false; },    [](ModelConfig& m) { m.out_bias = false; }};
  for (const auto& change : changes) {
    Config config;
    change(config.model);
    EXPECT_FALSE(test::tensors_near(logits(config), before, 1e-7)) << &change - changes.data();
  }
  Config apart, placed;
  apart.model.kind = placed.model.kind = "encoder_decoder";
  apart.model.positions = placed.model.positions = "rotary";
  placed.model.cross_positions = true;
  EXPECT_FALSE(test::tensors_near(logits(placed), logits(apart), 1e-7));
  Config sum, mean;
  sum.model.attention_activation = mean.model.attention_activation = "sigmoid";
  mean.model.attention_mean = true;
  EXPECT_FALSE(test::tensors_near(logits(mean), logits(sum), 1e-7));
  Config spelled_out;
  spelled_out.model.scale = 0.25;  // 1/sqrt(64 / 4)
  EXPECT_TRUE(test::same_bits(logits(spelled_out), before));
}

// Every kind of model turns its outputs x into sign(x) log(1 + |x|) where the config says so.
TEST(Build, StablemaxIsTheHeadsOfEveryKind) {
  for (const char* kind : {"encoder", "encoder_decoder", "mlp", "window_mlp"}) {
    Config config;
    config.model.kind = kind;
    config.model.pool = "mean";
    const Tensor<double> x = logits(config);
    config.model.stablemax = true;
    const Tensor<double> y = logits(config);
    ASSERT_EQ(y.shape(), x.shape());
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double v = x.data()[i];
      EXPECT_NEAR(y.data()[i], std::copysign(std::log1p(std::fabs(v)), v), 1e-15) << kind;
    }
  }
}

TEST(Build, StablemaxNeedsClasses) {
  Config config;
  TaskShape shape{.output = OutputKind::sequence, .vocabulary = 5, .max_length = 4, .classes = 3};
  for (const char* kind : {"encoder", "mlp"}) {
    config.model.kind = kind;
    config.model.pool = "mean";
    config.model.stablemax = true;
    shape.target = TargetKind::classes;
    EXPECT_EQ(message_of(config, shape), "none");
    shape.target = TargetKind::numbers;
    EXPECT_EQ(message_of(config, shape),
              "model.stablemax: needs targets that are classes; those of the task are numbers");
    shape.target = TargetKind::binary;
    EXPECT_EQ(message_of(config, shape),
              "model.stablemax: needs targets that are classes; those of the task are yes or no");
    config.model.stablemax = false;
    EXPECT_EQ(message_of(config, shape), "none");
  }
}

// The score of query i and key j in head h for tokens x = E[id] + P[n], in plain loops.
double score(const Parameters<double>& parameters, const Ids& ids, std::size_t head_dim,
             std::size_t h, std::size_t i, std::size_t j) {
  const auto at = [&](const std::string& name) { return parameters.at(name).value(); };
  const Tensor<double> weight = at("encoder.layers.0.self_attn.in_proj_weight"),
                       token = at("embedding.token.weight"),
                       place = at("embedding.position.weight");
  const std::size_t width = weight.shape()[1];
  double sum = 0;
  for (std::size_t c = h * head_dim; c < (h + 1) * head_dim; ++c) {
    double q = 0, k = 0;
    for (std::size_t d = 0; d < width; ++d) {
      q += weight(c, d) * (token(std::size_t(ids(0, i)), d) + place(i, d));
      k += weight(width + c, d) * (token(std::size_t(ids(0, j)), d) + place(j, d));
    }
    sum += q * k;
  }
  return sum / std::sqrt(double(head_dim));
}

TEST(Build, S1_12_TheNumberOfHeadsIsTheConfigs) {
  const TaskShape shape{.vocabulary = 5, .max_length = 4, .classes = 3};
  for (const std::size_t heads : {1, 3, 8}) {
    const std::string text =
        "task.name = 'reverse'\ntrain.steps = 1\n[model]\nwidth = 24\n"
        "layers = 1\nnorm = 'none'\nheads = ";
    const Config config = parse_config(text + std::to_string(heads), "c.toml", {});
    Parameters<double> parameters(1);
    const auto model = make_model<double>(config, shape, parameters);
    for (const Parameter<double>& p : parameters) {
      p.variable.mutable_value() = test::random_tensor(p.variable.shape(), Rng(2) / p.name);
    }
    Batch batch;
    batch.ids = test::random_ids({1, 4}, Rng(3), 5);
    batch.size = 1;
    const Tensor<double> map = attention_maps(*model, parameters, batch).front().probabilities;
    ASSERT_EQ(map.shape(), (Shape{1, heads, 4, 4}));
    for (std::size_t h = 0; h < heads; ++h) {
      for (std::size_t i = 0; i < 4; ++i) {
        // Ratios of probabilities are differences of scores.
        for (std::size_t j = 1; j < 4; ++j) {
          const double difference = score(parameters, batch.ids, 24 / heads, h, i, j) -
                                    score(parameters, batch.ids, 24 / heads, h, i, 0);
          EXPECT_NEAR(std::log(map(0, h, i, j) / map(0, h, i, 0)), difference, 1e-9);
        }
      }
    }
  }
}

// The output of each sublayer is its bias where its last weights are 0: dropout of the map changes
// nothing then.
TEST(Build, S0_14_EachRateOfTheConfigReachesItsPlace) {
  const TaskShape shape{.vocabulary = 5, .max_length = 4, .classes = 3};
  const Ids ids = test::random_ids({2, 4}, Rng(3), 5);
  ModelInput<double> input;
  input.ids = &ids;
  const auto output = [&](double rate, double attention_rate, bool biases_alone) {
    Config config;
    config.model.dropout = rate;
    config.model.attention_dropout = attention_rate;
    Parameters<double> parameters(1);
    const auto model = make_model<double>(config, shape, parameters);
    for (const Parameter<double>& p : parameters) {
      const bool last = p.name.ends_with("out_proj.weight") || p.name.ends_with("linear2.weight");
      p.variable.mutable_value() = test::random_tensor(p.variable.shape(), Rng(2) / p.name);
      if (biases_alone && last) p.variable.mutable_value() *= 0;
    }
    return (*model)(input, Context{true, Rng(4), 0}).value();
  };
  for (const bool biases_alone : {false, true}) {
    const Tensor<double> neither = output(0, 0, biases_alone);
    EXPECT_FALSE(test::tensors_near(output(0.5, 0, biases_alone), neither, 1e-3));
    EXPECT_EQ(bool(test::tensors_near(output(0, 0.5, biases_alone), neither, 1e-3)), biases_alone);
  }
}

// Sizes that do not fit each other, and sizes that do not fit the task.
TEST(Build, S2_16_SizesThatDoNotFitAreRefusedBeforeAnythingIsAllocated) {
  const std::string tokens = "task.name = 'reverse'\ntrain.steps = 1\n",
                    images = "task.name = 'shapes'\ntrain.steps = 1\n";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {tokens + "model.width = 50", "model.heads: 4 heads do not divide a width of 50"},
      {tokens + "model = {positions = 'rotary', head_dim = 3}",
       "model.positions: rotary needs an even number of features per head, not 3"},
      {tokens + "model = {out_proj = false, head_dim = 3}",
       "model.out_proj: false needs heads * head_dim = width, but 4 * 3 = 12"},
      {tokens + "model.window = 4", "model.window: is 4, must be odd"},
      {tokens + "task.length = 8\ntask.min_length = 9",
       "task.min_length: is 9, must be at most task.length, 8"},
      {tokens + "model.positions = 'learned_2d'",
       "model.positions: learned_2d needs a task whose examples are images"},
      {"task.name = 'first'\ntrain.steps = 1\nmodel.kind = 'encoder_decoder'",
       "model.kind: encoder_decoder generates a sequence"},
      {images + "model.patch = 5",
       "model.patch: 5 does not divide the task's images of 12 x 12 pixels"},
      {images + "model = {kind = 'mlp', patch = 4}", "model.pool: cls needs attention"},
  };
  const auto bytes_of = [](const std::string& text) {
    const Counters counters;
    Trainer<float>(parse_config(text, "c.toml", {}));
    return counters.peak_bytes();
  };
  for (const auto& [text, message] : cases) {
    const Counters counters;
    EXPECT_TRUE(test::throws_with<ConfigError>(
        [&] { Trainer<float>(parse_config(text, "c.toml", {})); }, message));
    EXPECT_EQ(counters.peak_bytes(), 0) << text;
  }
  EXPECT_GT(bytes_of(tokens), 100000) << "what fits is allocated, and counted";
  EXPECT_GT(bytes_of(images + "model.patch = 4"), 100000);
}

TEST(Build, S2_10_MasksHaveWhatTheyNeed) {
  TaskShape shape{.output = OutputKind::sequence, .vocabulary = 5, .max_length = 4, .classes = 3};
  Config config;
  config.model.mask = "causal";
  EXPECT_EQ(message_of(config, shape),
            "model.mask: causal hides all tokens from the class token, which comes first; choose "
            "another model.pool than cls");
  config.model.pool = "mean";
  EXPECT_EQ(message_of(config, shape), "none");
  config.model.kind = "mlp";
  EXPECT_EQ(message_of(config, shape), "model.mask: causal has no effect with model.kind mlp");
  config.model = {};
  config.model.mask = "adjacency";
  EXPECT_EQ(message_of(config, shape),
            "model.mask: adjacency needs a task whose examples are graphs");
  shape.graph = true;
  EXPECT_EQ(message_of(config, shape), "none");
}

TEST(Build, ALanguageModelSeesNothingOfWhatItPredicts) {
  const TaskShape shape{
      .vocabulary = 5, .max_length = 4, .classes = 5, .next = NextToken::character};
  Config config;
  const auto refused = [&](const std::function<void(ModelConfig&)>& change) {
    Config other = config;
    change(other.model);
    return message_of(other, shape);
  };
  const std::string task = ", but the task is to predict each token from those before it; ";
  EXPECT_EQ(message_of(config, shape), "model.mask: is none" + task + "set it to causal");
  config.model.mask = "causal";
  EXPECT_EQ(message_of(config, shape), "none");
  EXPECT_EQ(refused([](ModelConfig& m) { m.kind = "window_mlp", m.mask = "none"; }),
            "model.kind: is window_mlp" + task + "set it to encoder or mlp");
  EXPECT_EQ(refused([](ModelConfig& m) { m.kind = "mlp", m.mask = "none"; }), "none");
  EXPECT_EQ(
      refused([](ModelConfig& m) { m.normalization = "batch"; }),
      "model.normalization: batch lets tokens see later ones" + task + "set it to layer or rms");
  EXPECT_EQ(refused([](ModelConfig& m) { m.positions = "relative_index"; }),
            "model.positions: relative_index tells tokens the length of the text" + task +
                "choose others");
}

TEST(Build, AModelDoesNotSeeTargetsInLaterTokens) {
  const TaskShape shape = find_task("linear_regression").make({}, 1)->shape();
  const auto message = [&](const std::function<void(ModelConfig&)>& change) {
    Config config;
    change(config.model);
    return message_of(config, shape);
  };
  const std::string task = ", but in this task later tokens contain the targets; ";
  EXPECT_EQ(message([](ModelConfig&) {}), "model.mask: is none" + task + "set it to causal");
  EXPECT_EQ(message([](ModelConfig& m) { m.mask = "causal"; }), "none");
  EXPECT_EQ(message([](ModelConfig& m) { m.mask = "causal", m.positions = "relative_index"; }),
            "none");
  EXPECT_EQ(
      message([](ModelConfig& m) { m.mask = "causal", m.normalization = "batch"; }),
      "model.normalization: batch lets tokens see later ones" + task + "set it to layer or rms");
  EXPECT_EQ(message([](ModelConfig& m) { m.kind = "window_mlp"; }),
            "model.kind: is window_mlp" + task + "set it to encoder or mlp");
  EXPECT_EQ(message([](ModelConfig& m) { m.kind = "mlp"; }), "none");
}

TEST(Build, Learned2dPositionsNeedAnImage) {
  Config config;
  config.model.positions = "learned_2d";
  EXPECT_EQ(message_of(config, {.vocabulary = 5, .max_length = 4, .classes = 3}),
            "model.positions: learned_2d needs a task whose examples are images");
}

TEST(Build, GeneratedOutputsNeedADecoder) {
  Config config;
  TaskShape shape{.vocabulary = 5, .max_length = 4, .classes = 3};
  EXPECT_EQ(message_of(config, shape), "none");
  config.model.kind = "encoder_decoder";
  EXPECT_EQ(message_of(config, shape),
            "model.kind: encoder_decoder generates a sequence, which the task does not ask for");
  shape.output = OutputKind::generated;
  shape.max_outputs = 3;
  EXPECT_EQ(message_of(config, shape), "none");
  config.model.kind = "encoder";
  EXPECT_EQ(message_of(config, shape),
            "model.kind: encoder cannot generate a sequence, which the task asks for; "
            "encoder_decoder can");
}

// The message of the ConfigError of making this model for sequences.
std::string refused(const std::function<void(ModelConfig&)>& change, InputKind input) {
  Config config;
  change(config.model);
  TaskShape shape{.output = OutputKind::sequence, .vocabulary = 5, .max_length = 4, .classes = 3};
  shape.input = input;
  shape.features = 2;
  Parameters<double> parameters(1);
  return test::message_of<ConfigError>([&] { make_model<double>(config, shape, parameters); });
}

TEST(Build, WhatDoesNotGoTogetherIsRefused) {
  const auto tokens = [](const auto& change) { return refused(change, InputKind::tokens); };
  EXPECT_EQ(tokens([](ModelConfig& m) { m.kind = "mlp"; }),
            "model.pool: cls needs attention, which model.kind mlp does not have; choose mean, max "
            "or attention");
  EXPECT_EQ(tokens([](ModelConfig& m) {
              m.kind = "window_mlp";
              m.pool = "max";
              m.positions = "rotary";
            }),
            "model.positions: rotary needs attention, which model.kind window_mlp does not have");
  const auto one_hot = [](ModelConfig& m) { m.input = "one_hot"; };
  EXPECT_EQ(tokens(one_hot), "none");
  EXPECT_EQ(refused(one_hot, InputKind::vectors),
            "model.input: one_hot needs a task whose examples are tokens");
}

}  // namespace
}  // namespace xgrad
