// The distributions of the initial values of the models that configs can make.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <set>
#include <utility>

#include <xgrad/train/config/keys.hpp>
#include <xgrad/train/model/build.hpp>

#include "support/statistics.hpp"

namespace xgrad {
namespace {

constexpr std::size_t kWidth = 48, kHeadDim = 16;

// Constant, uniform in (-scale, scale), normal with standard deviation `scale`, the same without
// what is beyond two of it, or a matrix with orthonormal rows or columns times `scale`.
struct Distribution {
  enum class Kind { constant, uniform, normal, truncated, orthogonal } kind;
  double scale;

  // The variance and the fourth moment for a scale of 1. With the density f and Z = P(|x| < 2),
  // they are 1 - 4 f(2) / Z and 3 - 28 f(2) / Z for a truncated normal.
  std::pair<double, double> moments() const {
    const double edge = std::exp(-2.0) / std::sqrt(2 * std::numbers::pi) / kInside;
    return kind == Kind::uniform  ? std::pair(1.0 / 3, 1.0 / 5)
           : kind == Kind::normal ? std::pair(1.0, 3.0)
                                  : std::pair(1 - 4 * edge, 3 - 28 * edge);
  }
  double variance() const { return moments().first * scale * scale; }
  double fourth_moment() const { return moments().second * std::pow(scale, 4); }
  double below(double x) const {
    if (kind == Kind::uniform) return std::clamp((x / scale + 1) / 2, 0.0, 1.0);
    if (kind != Kind::truncated) return test::normal_cdf(x / scale);
    return std::clamp((test::normal_cdf(x / scale) - test::normal_cdf(-2)) / kInside, 0.0, 1.0);
  }

 private:
  static inline const double kInside = 1 - 2 * test::normal_cdf(-2);
};

Distribution uniform(double bound) {
  return {Distribution::Kind::uniform, bound};
}

// Of a matrix (outputs, inputs), as torch.nn.init has it, with the gain of ReLU for Kaiming's.
Distribution of_scheme(const ModelConfig& config, const std::string& name, const Shape& shape) {
  using Kind = Distribution::Kind;
  const double in = double(shape[1]), both = double(shape[0]) + in;
  const std::map<std::string, Distribution> schemes = {
      {"xavier_uniform", {Kind::uniform, std::sqrt(6 / both)}},
      {"xavier_normal", {Kind::normal, std::sqrt(2 / both)}},
      {"kaiming_uniform", {Kind::uniform, std::sqrt(6 / in)}},
      {"kaiming_normal", {Kind::normal, std::sqrt(2 / in)}},
      {"trunc_normal", {Kind::truncated, config.init_std}},
      {"orthogonal", {Kind::orthogonal, 1}}};
  Distribution distribution = schemes.at(config.init);
  const bool ends = name.ends_with("out_proj.weight") || name.ends_with("linear2.weight");
  if (config.init_scaled_residuals && ends) {  // two sublayers in each layer, three in a decoder's
    distribution.scale /=
        std::sqrt((name.starts_with("decoder") ? 3.0 : 2.0) * double(config.layers));
  }
  return distribution;
}

// The rule in words. Projections of attention are Glorot's (2010), their biases 0 and norms the
// identity; other matrices and their biases are within 1/sqrt(inputs); whatever is looked up or
// stands in for a token, and biases by distance, have a standard deviation of 0.02. model.init is
// for all matrices that multiply features but the weights of additive scores and relative_index,
// and sets the biases beside them to 0.
Distribution distribution_of(const std::string& name, const Parameters<double>& parameters,
                             const ModelConfig& config) {
  const Shape shape = parameters.at(name).shape();
  const std::size_t dot = name.rfind('.');
  const std::string module = name.substr(0, dot), leaf = name.substr(dot + 1);
  const std::string last = module.substr(module.rfind('.') + 1);
  if (last.starts_with("norm")) return {Distribution::Kind::constant, leaf == "weight" ? 1.0 : 0.0};
  if (leaf == "in_proj_bias") return {Distribution::Kind::constant, 0};
  if (leaf.ends_with("_proj_weight") && config.init != "default") {
    return of_scheme(config, name, shape);
  }
  if (leaf.ends_with("_proj_weight")) return uniform(std::sqrt(6.0 / double(shape[0] + shape[1])));
  if (leaf == "score_weight") return uniform(1 / std::sqrt(double(kHeadDim)));
  const bool looked_up = last == "token" || (last == "position" && shape[1] != 2) ||
                         leaf == "class_token" || leaf == "query" ||
                         leaf == "relative_position_bias_table";
  if (looked_up) return {Distribution::Kind::normal, 0.02};
  const bool is_matrix = shape.size() == 2 && last != "position";
  if (config.init != "default" && is_matrix) return of_scheme(config, name, shape);
  if (config.init != "default" && last != "position") return {Distribution::Kind::constant, 0};
  const Shape matrix = parameters.at(module + ".weight").shape();
  return uniform(1 / std::sqrt(double(matrix[1])));
}

// The products of all rows, or of all columns if there are fewer.
void expect_orthogonal(double scale, const Tensor<double>& w) {
  const std::size_t rows = w.shape()[0], columns = w.shape()[1];
  const bool wide = rows <= columns;
  for (std::size_t i = 0; i < std::min(rows, columns); ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double product = 0;
      for (std::size_t e = 0; e < std::max(rows, columns); ++e) {
        product += wide ? w(i, e) * w(j, e) : w(e, i) * w(e, j);
      }
      ASSERT_NEAR(product, i == j ? scale * scale : 0, 1e-13) << i << " " << j;
    }
  }
}

void expect_from(const Distribution& distribution, const Tensor<double>& tensor) {
  const std::vector<double> values(tensor.data(), tensor.data() + tensor.size());
  if (distribution.kind == Distribution::Kind::constant) {
    for (const double x : values) ASSERT_EQ(x, distribution.scale);
    return;
  }
  if (distribution.kind == Distribution::Kind::orthogonal) {
    return expect_orthogonal(distribution.scale, tensor);
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
  const auto model = make_model<double>(config, shape_of(config.model), parameters);
  std::set<double> places;  // no tensor has the numbers of another
  std::size_t random = 0;
  for (const Parameter<double>& p : parameters) {
    SCOPED_TRACE(p.name);
    const Distribution distribution = distribution_of(p.name, parameters, config.model);
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

TEST(InitialValues, OfProjectionsThatEndASublayerAreSmallerInDeepModels) {
  std::set<std::string> kinds;
  for (const char* kind : {"encoder", "encoder_decoder"}) {
    for (const char* init : {"xavier_normal", "trunc_normal", "orthogonal"}) {
      Config config;
      config.model.kind = kind;
      config.model.init = init;
      config.model.init_std = 0.05;
      config.model.init_scaled_residuals = true;
      expect_distributions(config, 1, kinds);
    }
  }
  EXPECT_TRUE(kinds.contains("decoder.layers..multihead_attn.out_proj.weight"));
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
  const Config config;
  Parameters<double> one(1), two(2);
  Parameters<float> narrow(1);
  make_model<double>(config, shape_of(config.model), one);
  make_model<double>(config, shape_of(config.model), two);
  make_model<float>(config, shape_of(config.model), narrow);
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
