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
  Parameters<double> parameters(1);
  const auto model = make_model<double>(config.model, shape, parameters);
  for (const Parameter<double>& p : parameters) {
    p.variable.mutable_value() +=
        test::random_tensor(p.variable.shape(), Rng(2) / p.name, -0.5, 0.5);
  }
  const Ids ids = test::random_ids({2, 4}, Rng(3), 5);
  const Ids outputs = test::random_ids({2, 3}, Rng(4), 3);
  ModelInput<double> input;
  input.ids = &ids;
  input.outputs = &outputs;
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
      if (key.spec.name == "kind") config.model.pool = "mean";  // no class token without attention
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
