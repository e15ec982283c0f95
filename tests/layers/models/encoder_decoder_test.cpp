// The model that writes sequences: against PyTorch's nn.Transformer, under the gradient check, and
// what must hold for any decoder.
#include <xgrad/layers/models/models.hpp>

#include <gtest/gtest.h>

#include <set>

#include <xgrad/layers/models/generate.hpp>

#include "support/golden.hpp"
#include "support/gradients.hpp"

namespace xgrad {
namespace {

const test::Golden& golden() {
  static const test::Golden file("decoder.txt");
  return file;
}

constexpr std::size_t kClasses = 4, kOutputs = 6;

EncoderDecoderOptions options(NormOrder norm) {
  EncoderDecoderOptions o;
  o.input = {.vocabulary = 7, .max_length = 5};
  o.encoder.layers = 2;
  o.encoder.attention = {.width = 8, .heads = 2, .qkv_bias = true};
  o.encoder.feedforward = 12;
  o.encoder.norm = norm;
  o.classes = kClasses;
  o.max_outputs = kOutputs;
  return o;
}

// A model and the batch of one of the file's cases; with PyTorch's weights if asked.
template <class T>
struct Case {
  Case(const std::string& name, const EncoderDecoderOptions& options, bool torch_weights)
      : parameters(1), model(parameters.root(), options) {
    ids = golden().ids(name + ".x");
    targets = golden().ids(name + ".targets");
    input.ids = &ids;
    input.mask = std::make_shared<Mask>(golden().mask(name + ".mask"));
    input.outputs = &targets;
    for (const Parameter<T>& p : parameters) {
      if (!torch_weights) break;
      p.variable.mutable_value() = cast<T>(golden()(name + ".parameter." + p.name));
    }
    gradient.leaves.assign(parameters.begin(), parameters.end());
    gradient.f = [this] {
      return cross_entropy(model(input, Context{true, Rng(4), 0}), targets, {});
    };
  }

  Parameters<T> parameters;
  EncoderDecoderModel<T> model;
  Ids ids, targets;
  ModelInput<T> input;
  GradientProblem<T> gradient;
};

class AsTorch : public testing::TestWithParam<std::string> {
 protected:
  Tensor<double> expected(const std::string& name) const {
    return golden()(GetParam() + "." + name);
  }
  Case<double> twin_{GetParam(), options(GetParam() == "pre" ? NormOrder::pre : NormOrder::post),
                     true};
};

TEST_P(AsTorch, SameNamesLogitsLossAndGradients) {
  EXPECT_EQ(twin_.parameters.size(), golden().under(GetParam() + ".parameter.").size());
  const Variable<double> logits = twin_.model(twin_.input, {});
  EXPECT_TENSOR_NEAR(logits.value(), expected("logits"), 1e-12);
  const Variable<double> loss = cross_entropy(logits, twin_.targets);
  EXPECT_TENSOR_NEAR(loss.value(), expected("loss"), 1e-12);
  loss.backward();
  for (const Parameter<double>& p : twin_.parameters) {
    EXPECT_TENSOR_NEAR(p.variable.grad(), expected("gradient." + p.name), 1e-12) << p.name;
  }
}

TEST_P(AsTorch, S4_7_SameGreedyOutputs) {
  const auto outputs = generate(*twin_.model.decode(twin_.input), kClasses - 1, kOutputs);
  const Ids greedy = golden().ids(GetParam() + ".greedy");
  for (std::size_t b = 0; b < 6; ++b) {
    std::vector<std::int32_t> expected(greedy.data() + b * kOutputs,
                                       greedy.data() + (b + 1) * kOutputs);
    std::erase(expected, -100);
    EXPECT_EQ(outputs[b].classes, expected) << "sample " << b;
  }
}

// Handed what it generates as targets, a model is right in every place, and only then: the exact
// match under teacher forcing is that of generated outputs.
TEST_P(AsTorch, GeneratedOutputsAreTheirOwnTeacherForcedAnswers) {
  const auto outputs = generate(*twin_.model.decode(twin_.input), kClasses - 1, kOutputs);
  std::fill_n(twin_.targets.data(), twin_.targets.size(), -100);
  for (std::size_t b = 0; b < 6; ++b) {
    std::copy(outputs[b].classes.begin(), outputs[b].classes.end(),
              twin_.targets.data() + b * kOutputs);
  }
  const Tensor<double> logits = twin_.model(twin_.input, {}).value();
  for (std::size_t b = 0; b < 6; ++b) {
    for (std::size_t i = 0; i < outputs[b].classes.size(); ++i) {
      const double* row = logits.data() + (b * kOutputs + i) * kClasses;
      EXPECT_EQ(std::max_element(row, row + kClasses) - row, outputs[b].classes[i]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Decoder, AsTorch, testing::Values("pre", "post"),
                         [](const auto& test) { return test.param; });

TEST(EncoderDecoder, BothEmbeddingsHaveTheNorm) {
  EncoderDecoderOptions o = options(NormOrder::post);
  o.input.norm = NormOptions();
  Parameters<double> parameters(1);
  const EncoderDecoderModel<double> model(parameters.root(), o);
  std::set<std::string> names;
  for (const Parameter<double>& p : parameters) names.insert(p.name);
  EXPECT_TRUE(names.contains("embedding.norm.weight"));
  EXPECT_TRUE(names.contains("output_embedding.norm.weight"));
}

TEST(EncoderDecoder, Gradients) {
  for (const PositionKind positions :
       {PositionKind::learned, PositionKind::rotary, PositionKind::relative_bias}) {
    SCOPED_TRACE(testing::Message() << "positions " << int(positions));
    EncoderDecoderOptions o = options(NormOrder::pre);
    o.input.positions = o.encoder.attention.positions = positions;
    o.encoder.layers = 1;
    o.encoder.attention.dropout = o.encoder.dropout = 0.1;
    const Case<double> problem("pre", o, false);
    const Case<long double> reference("pre", o, false);
    GradcheckOptions gate;
    gate.tolerance = 1e-11;
    gate.entry_tolerance = 1e-9;
    const GradientReport report = check_gradients(problem.gradient, reference.gradient, gate);
    EXPECT_TRUE(report.ok()) << report.table();
  }
}

// The output at a place depends on the tokens before it, and on none at or behind it.
TEST(EncoderDecoder, SeesOnlyTheOutputBefore) {
  Case<double> c("pre", options(NormOrder::pre), true);
  std::fill_n(c.targets.data(), c.targets.size(), 1);
  const Tensor<double> before = c.model(c.input, {}).value();
  for (std::size_t place = 0; place < kOutputs; ++place) {
    c.targets(0, place) = 2;
    const Tensor<double> after = c.model(c.input, {}).value();
    for (std::size_t i = 0; i < kOutputs; ++i) {
      EXPECT_EQ(after(0, i, 0) == before(0, i, 0), i <= place) << place << ", " << i;
    }
    c.targets(0, place) = 1;
  }
}

TEST(EncoderDecoder, S4_1_PaddingOfTheInputChangesNothing) {
  Case<double> c("pre", options(NormOrder::pre), true);
  const Tensor<double> before = c.model(c.input, {}).value();
  for (std::size_t b = 0; b < 6; ++b) {
    for (std::size_t n = 0; n < 5; ++n) {
      if ((*c.input.mask)(b, n) == 0) c.ids(b, n) = 3;
    }
  }
  EXPECT_TRUE(test::same_bits(c.model(c.input, {}).value(), before));
}

TEST(EncoderDecoder, NeedsOutputs) {
  Case<double> c("pre", options(NormOrder::pre), true);
  c.input.outputs = nullptr;
  EXPECT_TRUE(test::throws_with<ShapeError>([&] { c.model(c.input, {}); }, "expected outputs"));
  const Ids none = zeros<std::int32_t>({6, 0});
  c.input.outputs = &none;
  EXPECT_TRUE(test::throws_with<ShapeError>([&] { c.model(c.input, {}); }, "M at least 1"));
  const Ids longer = zeros<std::int32_t>({6, kOutputs + 1});
  c.input.outputs = &longer;
  EXPECT_TRUE(test::throws_with<ShapeError>([&] { c.model(c.input, {}); },
                                            "expected at most 6 tokens, got 7"));
}

}  // namespace
}  // namespace xgrad
