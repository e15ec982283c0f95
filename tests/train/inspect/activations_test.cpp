#include <xgrad/train/inspect/activations.hpp>

#include <gtest/gtest.h>

#include <xgrad/train/inspect/summary.hpp>
#include <xgrad/train/loop/trainer.hpp>
#include <xgrad/train/model/build.hpp>

#include "support/gradients.hpp"

namespace xgrad {
namespace {

Config config_of(const std::string& model, const std::string& task = "reverse") {
  return parse_config("task.name = '" + task +
                          "'\ntrain = {steps = 2, batch = 4, precision = 'double'}\n"
                          "model = {width = 12, layers = 1, " +
                          model + "}\n",
                      "test", {});
}

// A model at the start of its training, and two batches of the same shape.
template <class T>
struct Case {
  explicit Case(const Config& config) : trainer(config) {
    const auto data = trainer.task().dataset(Split::test);
    const TaskShape shape = trainer.task().shape();
    std::vector<Example> longest[2];
    for (std::size_t i = 0; i < data->size(); ++i) {
      const Example example = data->get(0, i);
      if (length_of(example, shape) == shape.max_length) longest[i % 2].push_back(example);
    }
    for (auto& examples : longest) examples.resize(2);
    batches = {collate(longest[0], shape), collate(longest[1], shape)};
  }
  std::vector<CapturedActivation> capture(std::size_t batch) const {
    return capture_activations(trainer.model(), trainer.parameters(), batches[batch]);
  }
  Tensor<double> replace(const std::map<std::string, Tensor<double>>& values) const {
    return replace_activations(trainer.model(), trainer.parameters(), batches[0], values);
  }
  Tensor<double> logits(std::size_t batch) const {
    return cast<double>(trainer.model()(BatchInput<T>(batches[batch]).input(), {}).value());
  }
  Trainer<T> trainer;
  std::vector<Batch> batches;
};

TEST(ActivationsOfAModel, ReplacedByThemselvesChangeNothing) {
  for (const char* model : {"heads = 3", "heads = 2, norm = 'post', positions = 'rotary'",
                            "kind = 'window_mlp'", "kind = 'mlp'"}) {
    const Case<double> at(config_of(model));
    std::map<std::string, Tensor<double>> values;
    for (const CapturedActivation& a : at.capture(0)) values[a.name] = a.value;
    ASSERT_FALSE(values.empty()) << model;
    EXPECT_TENSOR_NEAR(at.replace(values), at.logits(0), 1e-12) << model;
  }
}

// The residual stream in front of the first block holds all that the rest of an encoder reads.
TEST(ActivationsOfAModel, TheStreamOfAnotherInputGivesItsLogits) {
  const Config config = config_of("heads = 3");
  const Case<double> at(config);
  ASSERT_GT(xt::amax(xt::abs(at.logits(0) - at.logits(1)))(), 0.01);
  for (const CapturedActivation& a : at.capture(1)) {
    if (a.name.find("residual_") == a.name.npos) continue;
    EXPECT_TENSOR_NEAR(at.replace({{a.name, a.value}}), at.logits(1), 1e-12) << a.name;
  }
  Config single = config;
  single.train.precision = "float";
  const Case<float> rounded(single);
  const auto other = rounded.capture(1);
  EXPECT_EQ(rounded.replace({{other[0].name, other[0].value}}),
            replace_activations(rounded.trainer.model(), rounded.trainer.parameters(),
                                rounded.batches[1], {}));
}

TEST(ActivationsOfAModel, ErrorsNameTheActivation) {
  const Case<double> at(config_of("heads = 3"));
  EXPECT_TRUE(test::throws_with<Error>(
      [&] {
        at.replace({{"encoder.values", {}}});
      },
      "no activation \"encoder.values\""));
  EXPECT_TRUE(test::throws_with<ShapeError>(
      [&] {
        at.replace({{"encoder.layers.0.self_attn.keys", zeros<double>({2, 2})}});
      },
      "activation encoder.layers.0.self_attn.keys: expected shape (2, "));
}

TEST(ActivationsOfAModel, SummaryListsThoseOfEveryKind) {
  const auto names_of = [](const Config& config) {
    std::vector<std::string> names;
    for (const auto& [name, shape] : summarize(config).activations) names.push_back(name);
    return names;
  };
  EXPECT_EQ(names_of(config_of("kind = 'mlp'")), std::vector<std::string>{"layers.0.mlp_hidden"});
  Config linear = config_of("kind = 'window_mlp'");
  linear.model.layers = 0;
  EXPECT_EQ(names_of(linear), std::vector<std::string>{});
  const auto generating = names_of(config_of("kind = 'encoder_decoder', heads = 3", "distinct"));
  ASSERT_EQ(generating.size(), 10u + 17);
  EXPECT_EQ(generating[0], "encoder.layers.0.residual_before");
  EXPECT_EQ(generating[4], "encoder.layers.0.self_attn.scores");
  EXPECT_EQ(generating[21], "decoder.layers.0.multihead_attn.scores");
  EXPECT_EQ(generating[22], "decoder.layers.0.multihead_attn.weights");
  EXPECT_EQ(generating[26], "decoder.layers.0.residual_after");

  const Config config = config_of("heads = 3");
  Case<double> at(config);
  const auto listed = summarize(config).activations;
  const auto captured = capture_activations(at.trainer.model(), at.trainer.parameters(),
                                            at.trainer.hold_batch().front());
  ASSERT_EQ(listed.size(), captured.size());
  for (std::size_t i = 0; i < listed.size(); ++i) {
    EXPECT_EQ(listed[i].first, captured[i].name);
    EXPECT_EQ(listed[i].second, captured[i].value.shape());
  }
}

}  // namespace
}  // namespace xgrad
