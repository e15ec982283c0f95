// Which parameters of the models that configs can make decay.
#include <gtest/gtest.h>

#include <xgrad/train/config/keys.hpp>
#include <xgrad/train/model/build.hpp>
#include <xgrad/train/model/parts.hpp>

#include "support/source_tree.hpp"

namespace xgrad {
namespace {

// The rule in words: matrices that multiply features decay; norms, biases and rows that are looked
// up do not. PyTorch's users write it as this function of the name.
bool decays(const Parameter<float>& p) {
  const auto last = [](std::string& path) {
    const std::size_t dot = path.rfind('.');
    std::string part = dot == std::string::npos ? path : path.substr(dot + 1);
    path.resize(dot == std::string::npos ? 0 : dot);
    return part;
  };
  std::string path = p.name;
  const std::string leaf = last(path), module = last(path);
  if (p.variable.shape().size() < 2 || !leaf.ends_with("weight")) return false;
  return module != "token" && module != "position" && !module.starts_with("norm");
}

// Of tasks that read files, what tells their models apart.
TaskShape shape_of(const Config& config) {
  const std::string& task = config.task;
  TaskShape shape{.output = OutputKind::sequence, .vocabulary = 9, .max_length = 8, .classes = 3};
  if (task == "fashion_mnist" || config.model.positions == "learned_2d") {
    shape.input = InputKind::image;
    shape.height = shape.width = 28;
    shape.channels = 1;
    return shape;
  }
  if (config.model.kind == "encoder_decoder") {
    shape.output = OutputKind::generated;
    shape.max_outputs = 3;
  }
  if (config.model.mask == "causal") shape.output = OutputKind::tokens;
  shape.graph = config.model.mask == "adjacency";
  const bool reads_files = task == "cmu" || task == "kjv" || task == "wordnet";
  return task.empty() || reads_files ? shape : make_task(config)->shape();
}

// Returns how many parameters decay.
std::size_t expect_the_rule(const Config& config) {
  Parameters<float> parameters(1);
  const auto model = make_model<float>(config, shape_of(config), parameters);
  std::size_t count = 0;
  for (const Parameter<float>& p : parameters) {
    EXPECT_EQ(p.weight_decay == WeightDecay::on, decays(p)) << p.name;
    count += p.weight_decay == WeightDecay::on;
  }
  return count;
}

TEST(WeightDecay, OfEveryShippedConfigIsOfMatrices) {
  EXPECT_GT(test::shipped_configs().size(), 30u);
  for (const std::string& path : test::shipped_configs()) {
    SCOPED_TRACE(path);
    EXPECT_GT(expect_the_rule(load_config(path, {})), 0u);
  }
}

TEST(WeightDecay, OfEveryKindOfModelIsOfMatrices) {
  for (const detail::ConfigKey& key : detail::config_keys()) {
    if (key.section != "model") continue;
    for (const std::string& word : key.spec.choices) {
      // Tests that ran before in the same process may have added kinds.
      if (detail::added<detail::ModelMakers>().contains(word)) continue;
      SCOPED_TRACE(key.spec.name + " = " + word);
      Config config;
      config.model.layers = 1;
      if (key.spec.name == "kind" || key.spec.name == "mask") config.model.pool = "mean";
      key.set(config, word);
      expect_the_rule(config);
    }
  }
}

// One layer of width 6 with two heads, by name.
TEST(WeightDecay, OfASmallEncoder) {
  Config config;
  config.model.width = 6;
  config.model.heads = 2;
  config.model.layers = 1;
  Parameters<float> parameters(1);
  const auto model = make_model<float>(config, shape_of(config), parameters);
  std::vector<std::string> names;
  for (const Parameter<float>& p : parameters) {
    if (p.weight_decay == WeightDecay::on) names.push_back(p.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"encoder.layers.0.self_attn.in_proj_weight",
                                             "encoder.layers.0.self_attn.out_proj.weight",
                                             "encoder.layers.0.linear1.weight",
                                             "encoder.layers.0.linear2.weight", "head.weight"}));
}

}  // namespace
}  // namespace xgrad
