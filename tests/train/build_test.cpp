#include <xgrad/train/build.hpp>

#include <gtest/gtest.h>

#include <functional>

#include <xgrad/train/config_keys.hpp>

#include "support/tensors.hpp"

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
  const auto model = make_model<double>(config.model, shape, parameters);
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
  try {
    make_model<float>(config.model, shape, parameters);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
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
  Config sum, mean;
  sum.model.attention_activation = mean.model.attention_activation = "sigmoid";
  mean.model.attention_mean = true;
  EXPECT_FALSE(test::tensors_near(logits(mean), logits(sum), 1e-7));
  Config spelled_out;
  spelled_out.model.scale = 0.25;  // 1/sqrt(64 / 4)
  EXPECT_TRUE(test::same_bits(logits(spelled_out), before));
}

TEST(Build, S2_10_MasksHaveWhatTheyNeed) {
  TaskShape shape{.output = OutputKind::sequence, .vocabulary = 5, .max_length = 4, .classes = 3};
  Config config;
  config.model.mask = "causal";
  EXPECT_EQ(message_of(config, shape),
            "model.mask: causal hides all tokens from the class token, which stands first; choose "
            "another model.pool than cls");
  config.model.pool = "mean";
  EXPECT_EQ(message_of(config, shape), "");
  config.model.kind = "mlp";
  EXPECT_EQ(message_of(config, shape), "model.mask: causal has no use with model.kind mlp");
  config.model = {};
  config.model.mask = "adjacency";
  EXPECT_EQ(message_of(config, shape),
            "model.mask: adjacency needs a task whose examples are graphs");
  shape.graph = true;
  EXPECT_EQ(message_of(config, shape), "");
}

TEST(Build, Learned2dPositionsNeedAnImage) {
  Config config;
  config.model.positions = "learned_2d";
  EXPECT_EQ(message_of(config, {.vocabulary = 5, .max_length = 4, .classes = 3}),
            "model.positions: learned_2d places the patches of an image, and the task has none");
}

TEST(Build, GeneratedOutputsNeedADecoder) {
  Config config;
  TaskShape shape{.vocabulary = 5, .max_length = 4, .classes = 3};
  EXPECT_EQ(message_of(config, shape), "");
  config.model.kind = "encoder_decoder";
  EXPECT_EQ(message_of(config, shape),
            "model.kind: encoder_decoder writes a sequence, which the task does not ask for");
  shape.output = OutputKind::generated;
  shape.max_outputs = 3;
  EXPECT_EQ(message_of(config, shape), "");
  config.model.kind = "encoder";
  EXPECT_EQ(message_of(config, shape),
            "model.kind: encoder cannot write a sequence, which the task asks for; "
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
  try {
    make_model<double>(config.model, shape, parameters);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "none";
}

TEST(Build, WhatDoesNotGoTogetherIsRefused) {
  const auto tokens = [](const auto& change) { return refused(change, InputKind::tokens); };
  EXPECT_EQ(tokens([](ModelConfig& m) { m.kind = "mlp"; }),
            "model.pool: cls needs attention, which model.kind mlp has not; choose mean, max or "
            "attention");
  EXPECT_EQ(tokens([](ModelConfig& m) {
              m.kind = "window_mlp";
              m.pool = "max";
              m.positions = "rotary";
            }),
            "model.positions: rotary needs attention, which model.kind window_mlp has not");
  const auto one_hot = [](ModelConfig& m) { m.input = "one_hot"; };
  EXPECT_EQ(tokens(one_hot), "none");
  EXPECT_EQ(refused(one_hot, InputKind::vectors), "model.input: only tokens can be one_hot");
}

}  // namespace
}  // namespace xgrad
