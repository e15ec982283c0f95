// Activations that an observer reads or replaces, compared with plain loops.
#include <xgrad/layers/module.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include <xgrad/layers/models/models.hpp>

#include "layers/models.hpp"
#include "support/gradients.hpp"

namespace xgrad {
namespace {

using test::random_tensor;

const Rng kRng = Rng(31) / "activations";
constexpr std::size_t kBatch = 2, kTokens = 4, kWidth = 8, kHeads = 2, kHead = 4, kHidden = 6;

// Keeps all activations of the module at `site`, or of all modules, and changes them by `change`.
template <class T>
struct Taker final : ActivationTaker<T> {
  bool wants(std::string_view name) const override { return only.empty() || name == only; }
  Variable<T> take(const ActivationPlace& place, const Variable<T>& x) override {
    order.emplace_back(place.name);
    seen[{place.module, place.name}] = x.value();
    return change ? change(place.module, place.name, x) : x;
  }
  Context context() {
    Context result;
    result.activations = this;
    return result;
  }
  const Tensor<T>& at(const std::string& path, const std::string& name) const {
    return seen.at({(Rng(0) / path).key(), name});
  }
  std::function<Variable<T>(std::uint64_t, const std::string&, const Variable<T>&)> change;
  std::string only;  // an activation; empty: all
  std::vector<std::string> order;
  std::map<std::pair<std::uint64_t, std::string>, Tensor<T>> seen;
};

// An encoder "e" of one block with random parameters, and an input whose second row is padded.
template <class T = double>
struct Small {
  explicit Small(PositionKind positions = PositionKind::none)
      : encoder(parameters.root() / "e", options(positions)) {
    for (const Parameter<T>& p : parameters) {
      p.variable.mutable_value() += random_tensor<T>(p.variable.shape(), kRng / p.name, -0.3, 0.3);
    }
  }
  static EncoderOptions options(PositionKind positions) {
    EncoderOptions o;
    o.attention = {.width = kWidth, .heads = kHeads, .positions = positions};
    o.feedforward = kHidden;
    o.activation = Activation::relu;
    o.final_norm = false;
    return o;
  }
  Variable<T> run(const Context& context) const { return encoder(x, {mask}, context); }
  const Tensor<T>& weight(const std::string& name) const {
    return parameters.at("e.layers.0." + name).value();
  }

  Parameters<T> parameters{1};
  Encoder<T> encoder;
  Variable<T> x{random_tensor<T>({kBatch, kTokens, kWidth}, kRng)};
  std::shared_ptr<const Mask> mask = test::lengths({kTokens, 3}, kTokens);
};

// Layer norm of each row of (B, N, D), with weight and bias.
Tensor<double> normed(const Tensor<double>& x, const Tensor<double>& w, const Tensor<double>& b) {
  Tensor<double> y = empty<double>(x.shape());
  const std::size_t width = x.shape().back();
  for (std::size_t row = 0; row < x.size() / width; ++row) {
    const double* in = x.data() + row * width;
    double mean = 0, variance = 0;
    for (std::size_t i = 0; i < width; ++i) mean += in[i] / double(width);
    for (std::size_t i = 0; i < width; ++i) variance += std::pow(in[i] - mean, 2) / double(width);
    for (std::size_t i = 0; i < width; ++i) {
      y.data()[row * width + i] = (in[i] - mean) / std::sqrt(variance + 1e-5) * w(i) + b(i);
    }
  }
  return y;
}

// x (B, N, D) times the transpose of the rows [first, first + count) of w.
Tensor<double> projected(const Tensor<double>& x, const Tensor<double>& w, std::size_t first,
                         std::size_t count) {
  Tensor<double> y = zeros<double>({x.shape()[0], x.shape()[1], count});
  for (std::size_t b = 0; b < x.shape()[0]; ++b)
    for (std::size_t n = 0; n < x.shape()[1]; ++n)
      for (std::size_t o = 0; o < count; ++o)
        for (std::size_t i = 0; i < x.shape()[2]; ++i) y(b, n, o) += x(b, n, i) * w(first + o, i);
  return y;
}

TEST(Activations, AreTheNumbersOfTheFormulas) {
  const Small<> small;
  Taker<double> taker;
  const Tensor<double> result = small.run(taker.context()).value();
  const auto at = [&](const char* name) { return taker.at("e.layers.0", name); };
  const auto in = [&](const char* name) { return taker.at("e.layers.0.self_attn", name); };
  EXPECT_EQ(taker.order, (std::vector<std::string>{
                             "residual_before", "queries", "keys", "values", "scores", "weights",
                             "head_outputs", "residual_middle", "mlp_hidden", "residual_after"}));
  EXPECT_EQ(at("residual_before"), small.x.value());
  EXPECT_EQ(at("residual_after"), result);
  EXPECT_TENSOR_NEAR(result, small.run({}).value(), 1e-14);

  const Tensor<double> x =
      normed(small.x.value(), small.weight("norm1.weight"), small.weight("norm1.bias"));
  const Tensor<double>& w = small.weight("self_attn.in_proj_weight");
  const Tensor<double> q = projected(x, w, 0, kWidth), k = projected(x, w, kWidth, kWidth),
                       v = projected(x, w, 2 * kWidth, kWidth);
  EXPECT_TENSOR_NEAR(in("queries"), q, 1e-13);
  EXPECT_TENSOR_NEAR(in("keys"), k, 1e-13);
  EXPECT_TENSOR_NEAR(in("values"), v, 1e-13);

  Tensor<double> scores = zeros<double>({kBatch, kHeads, kTokens, kTokens}), weights = scores;
  Tensor<double> heads = zeros<double>({kBatch, kTokens, kWidth});
  for (std::size_t b = 0; b < kBatch; ++b)
    for (std::size_t h = 0; h < kHeads; ++h)
      for (std::size_t n = 0; n < kTokens; ++n) {
        double sum = 0;
        for (std::size_t m = 0; m < kTokens; ++m) {
          for (std::size_t i = h * kHead; i < (h + 1) * kHead; ++i)
            scores(b, h, n, m) += q(b, n, i) * k(b, m, i) / std::sqrt(double(kHead));
          sum += (*small.mask)(b, m) ? std::exp(scores(b, h, n, m)) : 0;
        }
        for (std::size_t m = 0; m < kTokens; ++m)
          for (std::size_t i = h * kHead; (*small.mask)(b, m) && i < (h + 1) * kHead; ++i)
            heads(b, n, i) += std::exp(scores(b, h, n, m)) / sum * v(b, m, i);
        for (std::size_t m = 0; m < kTokens; ++m)
          weights(b, h, n, m) = (*small.mask)(b, m) ? std::exp(scores(b, h, n, m)) / sum : 0;
      }
  EXPECT_TENSOR_NEAR(in("scores"), scores, 1e-13);
  EXPECT_TENSOR_NEAR(in("weights"), weights, 1e-13);
  EXPECT_TENSOR_NEAR(in("head_outputs"), heads, 1e-13);

  const Tensor<double>& out = small.weight("self_attn.out_proj.weight");
  Tensor<double> middle = projected(heads, out, 0, kWidth);
  middle += small.x.value() + small.weight("self_attn.out_proj.bias");
  EXPECT_TENSOR_NEAR(at("residual_middle"), middle, 1e-13);
  Tensor<double> hidden =
      projected(normed(middle, small.weight("norm2.weight"), small.weight("norm2.bias")),
                small.weight("linear1.weight"), 0, kHidden);
  hidden += small.weight("linear1.bias");
  for (std::size_t i = 0; i < hidden.size(); ++i) {
    hidden.data()[i] = std::max(hidden.data()[i], 0.0);
  }
  EXPECT_TENSOR_NEAR(at("mlp_hidden"), hidden, 1e-13);
}

TEST(Activations, QueriesAndKeysAreThoseBeforeRotaryPositions) {
  Taker<double> plain, rotary;
  const Small<> small, turned(PositionKind::rotary);
  small.run(plain.context());
  EXPECT_TENSOR_NEAR(turned.run(rotary.context()).value(), turned.run({}).value(), 1e-13);
  for (const char* name : {"queries", "keys"}) {
    EXPECT_EQ(plain.at("e.layers.0.self_attn", name), rotary.at("e.layers.0.self_attn", name));
  }
  EXPECT_NE(plain.at("e.layers.0.self_attn", "scores"),
            rotary.at("e.layers.0.self_attn", "scores"));
}

// The columns of the output projection that read a head act on nothing else. Attention stays fused
// while only its outputs are wanted: the bits are those without an observer.
TEST(Activations, AHeadWhoseOutputIsReplacedByZeroIsSilent) {
  const Small<> small;
  Taker<double> taker;
  taker.only = "head_outputs";
  EXPECT_EQ(small.run(taker.context()).value(), small.run({}).value());
  EXPECT_EQ(taker.order, (std::vector<std::string>{"head_outputs"}));
  taker.change = [](std::uint64_t, const std::string&, const Variable<double>& x) {
    Tensor<double> y = x.value();
    for (std::size_t i = 0; i < y.size(); ++i) y.data()[i] *= i % kWidth < kHead;
    return Variable<double>(y);
  };
  const Tensor<double> silent = small.run(taker.context()).value();
  Tensor<double>& weight =
      small.parameters.at("e.layers.0.self_attn.out_proj.weight").mutable_value();
  const Tensor<double> whole = small.run({}).value();
  for (std::size_t i = 0; i < weight.size(); ++i) weight.data()[i] *= i % kWidth < kHead;
  EXPECT_TENSOR_NEAR(silent, small.run({}).value(), 1e-13);
  EXPECT_FALSE(test::tensors_near(silent, whole, 1e-3));
}

// The gradients of a value that stands in for an activation, and of what comes before one that is
// observed, for every name.
TEST(Activations, GradientsFlowThroughReplacedValues) {
  Taker<double> all;
  Small<>().run(all.context());
  for (const std::string& name : all.order) {
    const auto f = [&]<class T>(const std::vector<Variable<T>>& in) {
      Small<T> small;
      small.x = in[0];
      Taker<T> taker;
      taker.change = [&](std::uint64_t, const std::string& at, const Variable<T>& x) {
        return at == name ? mul(x, in[1]) : x;
      };
      return small.run(taker.context());
    };
    const GradientReport report = check_gradients(
        f, {random_tensor({kBatch, kTokens, kWidth}, kRng), test::tensor({1}, {0.8})});
    EXPECT_TRUE(report.ok()) << name << "\n" << report.table();
  }
}

TEST(Activations, WhatDoesNotFitIsNamed) {
  const Small<> small;
  Taker<double> taker;
  taker.change = [](std::uint64_t, const std::string& name, const Variable<double>& x) {
    return name == "scores" ? Variable<double>(zeros<double>({2, 2, 4, 3})) : x;
  };
  EXPECT_TRUE(test::throws_with<ShapeError>([&] { small.run(taker.context()); },
                                            "activation scores: expected shape (2, 2, 4, 4), got"));
  Taker<float> other;
  EXPECT_TRUE(test::throws_with<Error>([&] { small.run(other.context()); }, "scalar type"));
}

TEST(Activations, AnObservedEncoderDoesNotRunItsBlocksAgain) {
  Small<> small;
  small.x = Variable<double>(small.x.value(), /*requires_grad=*/true);
  Taker<double> taker;
  Context context = taker.context();
  context.recompute = true;
  sum(small.run(context)).backward();
  EXPECT_EQ(taker.order.size(), 10u);
}

TEST(Activations, ADecoderShowsBothAttentions) {
  EncoderDecoderOptions options;
  options.input = {.vocabulary = 7, .max_length = 5};
  options.encoder.attention = {.width = kWidth, .heads = kHeads};
  options.classes = 4;
  options.max_outputs = 3;
  Parameters<double> parameters(1);
  const EncoderDecoderModel<double> model(parameters.root(), options);
  const Ids ids = test::random_ids({2, 5}, kRng, 7), targets = test::random_ids({2, 3}, kRng, 4);
  ModelInput<double> input;
  input.ids = &ids;
  input.outputs = &targets;
  Taker<double> taker;
  const Tensor<double> seen = model(input, taker.context()).value();
  EXPECT_TENSOR_NEAR(seen, model(input, {}).value(), 1e-13);
  EXPECT_EQ(std::vector<std::string>(taker.order.begin() + 10, taker.order.end()),
            (std::vector<std::string>{"residual_before", "queries", "keys", "values", "scores",
                                      "weights", "head_outputs", "residual_middle", "queries",
                                      "keys", "values", "scores", "weights", "head_outputs",
                                      "residual_cross", "mlp_hidden", "residual_after"}));
  const std::string cross = "decoder.layers.0.multihead_attn";
  EXPECT_EQ(taker.at(cross, "queries").shape(), (Shape{2, 3, kWidth}));
  EXPECT_EQ(taker.at(cross, "values").shape(), (Shape{2, 5, kWidth}));
  EXPECT_EQ(taker.at(cross, "scores").shape(), (Shape{2, kHeads, 3, 5}));

  // Without the outputs of its heads, cross-attention adds no more than its bias.
  taker.change = [](std::uint64_t site, const std::string& name, const Variable<double>& x) {
    const bool at = site == (Rng(0) / "decoder.layers.0.multihead_attn").key();
    return at && name == "head_outputs" ? Variable<double>(zeros<double>(x.shape())) : x;
  };
  model(input, taker.context());
  const Tensor<double> sum = taker.at("decoder.layers.0", "residual_middle") +
                             parameters.at(cross + ".out_proj.bias").value();
  EXPECT_TENSOR_NEAR(taker.at("decoder.layers.0", "residual_cross"), sum, 1e-15);
}

TEST(Activations, AWindowMlpShowsItsHiddenLayers) {
  WindowMlpOptions options;
  options.input = {.vocabulary = 7, .max_length = 5, .features = 4};
  options.layers = 2;
  options.hidden = 6;
  options.activation = Activation::silu;
  options.classes = 3;
  Parameters<double> parameters(1);
  const WindowMlp<double> model(parameters.root(), options);
  const Ids ids = test::random_ids({2, 5}, kRng, 7);
  ModelInput<double> input;
  input.ids = &ids;
  Taker<double> taker;
  model(input, taker.context());
  EXPECT_EQ(taker.order, (std::vector<std::string>{"mlp_hidden", "mlp_hidden"}));
  const Tensor<double>&first = taker.at("layers.0", "mlp_hidden"),
        &second = taker.at("layers.1", "mlp_hidden");
  const Tensor<double> sums =
      projected(first, parameters.at("layers.1.weight").value(), 0, options.hidden);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const double x = sums.data()[i] + parameters.at("layers.1.bias").value()(i % 6);
    EXPECT_NEAR(second.data()[i], x / (1 + std::exp(-x)), 1e-14);
  }
}

}  // namespace
}  // namespace xgrad
