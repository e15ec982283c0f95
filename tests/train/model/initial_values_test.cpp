// The distributions of the initial values of the models that configs can make.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include <xgrad/train/config/keys.hpp>
#include <xgrad/train/model/build.hpp>

#include "support/statistics.hpp"

namespace xgrad {
namespace {

constexpr std::size_t kWidth = 48, kHeadDim = 16;

// Constant, uniform in (-scale, scale), or normal with standard deviation `scale`.
struct Distribution {
  enum class Kind { constant, uniform, normal } kind;
  double scale;

  double variance() const { return kind == Kind::uniform ? scale * scale / 3 : scale * scale; }
  double fourth_moment() const {
    return kind == Kind::uniform ? std::pow(scale, 4) / 5 : 3 * std::pow(scale, 4);
  }
  double below(double x) const {
    return kind == Kind::uniform ? std::clamp((x / scale + 1) / 2, 0.0, 1.0)
                                 : test::normal_cdf(x / scale);
  }
};

Distribution uniform(double bound) {
  return {Distribution::Kind::uniform, bound};
}

// The rule in words. Projections of attention are Glorot's (2010), their biases 0 and norms the
// identity; other matrices and their biases are within 1/sqrt(inputs); whatever is looked up or
// stands in for a token, and biases by distance, have a standard deviation of 0.02.
Distribution distribution_of(const std::string& name, const Parameters<double>& parameters) {
  const Shape shape = parameters.at(name).shape();
  const std::size_t dot = name.rfind('.');
  const std::string module = name.substr(0, dot), leaf = name.substr(dot + 1);
  const std::string last = module.substr(module.rfind('.') + 1);
  if (last.starts_with("norm")) return {Distribution::Kind::constant, leaf == "weight" ? 1.0 : 0.0};
  if (leaf == "in_proj_bias") return {Distribution::Kind::constant, 0};
  if (leaf.ends_with("_proj_weight")) return uniform(std::sqrt(6.0 / double(shape[0] + shape[1])));
  if (leaf == "score_weight") return uniform(1 / std::sqrt(double(kHeadDim)));
  const bool looked_up = last == "token" || (last == "position" && shape[1] != 2) ||
                         leaf == "class_token" || leaf == "query" ||
                         leaf == "relative_position_bias_table";
  if (looked_up) return {Distribution::Kind::normal, 0.02};
  const Shape matrix = parameters.at(module + ".weight").shape();
  return uniform(1 / std::sqrt(double(matrix[1])));
}

void expect_from(const Distribution& distribution, const Tensor<double>& tensor) {
  const std::vector<double> values(tensor.data(), tensor.data() + tensor.size());
  if (distribution.kind == Distribution::Kind::constant) {
    for (const double x : values) ASSERT_EQ(x, distribution.scale);
    return;
  }
  const double n = double(values.size()), variance = distribution.variance();
  double mean = 0, squares = 0;
  for (const double x : values) mean += x / n, squares += x * x / n;
  EXPECT_NEAR(mean, 0, 5 * std::sqrt(variance / n));
  EXPECT_NEAR(squares, variance,
              5 * std::sqrt((distribution.fourth_moment() - variance * variance) / n));
  EXPECT_TRUE(test::comes_from(values, [&](double x) { return distribution.below(x); }));
}

TaskShape shape_of(const ModelConfig& config) {
  TaskShape shape{
      .output = OutputKind::sequence, .vocabulary = 50, .max_length = 30, .classes = 20};
  if (config.positions == "learned_2d") {
    shape.input = InputKind::image;
    shape.height = shape.width = 28;
    shape.channels = 1;
  }
  if (config.kind == "encoder_decoder") {
    shape.output = OutputKind::generated;
    shape.max_outputs = 25;
  }
  shape.graph = config.mask == "adjacency";
  return shape;
}

// Checks every parameter, and adds its name without the numbers of layers to `kinds`.
void expect_distributions(Config config, std::uint64_t seed, std::set<std::string>& kinds) {
  config.model.width = kWidth;
  config.model.heads = kWidth / kHeadDim;
  config.model.layers = 2;
  Parameters<double> parameters(seed);
  const auto model = make_model<double>(config.model, shape_of(config.model), parameters);
  std::set<double> places;  // no tensor has the numbers of another
  std::size_t random = 0;
  for (const Parameter<double>& p : parameters) {
    SCOPED_TRACE(p.name);
    const Distribution distribution = distribution_of(p.name, parameters);
    expect_from(distribution, p.variable.value());
    if (distribution.kind != Distribution::Kind::constant) {
      const double x = p.variable.value().data()[0];
      places.insert(distribution.below(x));
      ++random;
    }
    std::string kind = p.name;
    std::erase_if(kind, [](char c) { return c >= '0' && c <= '9'; });
    kinds.insert(kind);
  }
  EXPECT_EQ(places.size(), random);
}

TEST(InitialValues, OfEveryWordOfEveryModelKeyAreFromTheirDistributions) {
  std::set<std::string> kinds;
  for (const detail::ConfigKey& key : detail::config_keys()) {
    if (key.section != "model") continue;
    for (const std::string& word : key.spec.choices) {
      SCOPED_TRACE(key.name() + " = " + word);
      Config config;
      // There is no class token without attention, nor where it would see itself alone.
      if (key.spec.name == "kind" || key.spec.name == "mask") config.model.pool = "mean";
      key.set(config, word);
      for (const std::uint64_t seed : {1, 2}) expect_distributions(config, seed, kinds);
    }
  }
  EXPECT_GE(kinds.size(), 40u);
  for (const char* kind :
       {"embedding.class_token", "embedding.one_hot.weight", "embedding.patch.bias",
        "embedding.position.column_weight", "encoder.layers..self_attn.score_weight",
        "encoder.layers..self_attn.relative_position_bias_table", "pool.query",
        "output_embedding.token.weight", "decoder.layers..multihead_attn.in_proj_weight",
        "layers..weight"}) {
    EXPECT_TRUE(kinds.contains(kind)) << kind;
  }
}

TEST(InitialValues, OfAttentionDependOnItsSizes) {
  for (const std::size_t feedforward : {0, 100}) {
    Config config;
    config.model.feedforward = feedforward;
    config.model.qkv_bias = true;
    config.model.embedding_norm = true;
    std::set<std::string> kinds;
    expect_distributions(config, 3, kinds);
    EXPECT_TRUE(kinds.contains("encoder.layers..self_attn.in_proj_bias"));
  }
}

// A model in float starts from the values of a model in double, and another seed from others.
TEST(InitialValues, ArePartOfTheSeedAndNotOfThePrecision) {
  const ModelConfig config = Config().model;
  Parameters<double> one(1), two(2);
  Parameters<float> narrow(1);
  make_model<double>(config, shape_of(config), one);
  make_model<double>(config, shape_of(config), two);
  make_model<float>(config, shape_of(config), narrow);
  for (const Parameter<double>& p : one) {
    const Tensor<double>&value = p.variable.value(), &other = two.at(p.name).value();
    const Tensor<float>& rounded = narrow.at(p.name).value();
    const bool constant = std::all_of(value.data(), value.data() + value.size(),
                                      [&](double x) { return x == value.data()[0]; });
    for (std::size_t i = 0; i < value.size(); ++i) {
      ASSERT_EQ(float(value.data()[i]), rounded.data()[i]) << p.name;
      if (!constant) {
        ASSERT_NE(value.data()[i], other.data()[i]) << p.name;
      }
    }
  }
}

}  // namespace
}  // namespace xgrad
