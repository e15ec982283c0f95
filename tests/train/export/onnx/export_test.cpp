// Export to ONNX: every setting of [model] is built. tests/clients compares the logits of the files
// with xgrad's own.
#include <gtest/gtest.h>
#include <support/errors.hpp>

#include <cmath>

#include <xgrad/autograd/check.hpp>
#include <xgrad/train/checkpoint/state_dict.hpp>
#include <xgrad/train/config/keys.hpp>
#include <xgrad/train/export/export.hpp>
#include <xgrad/train/model/build.hpp>

namespace xgrad {
namespace {

using test::message_of;

TaskShape small_shape(InputKind input = InputKind::tokens) {
  TaskShape shape{.output = OutputKind::sequence, .vocabulary = 5, .max_length = 4, .classes = 3};
  shape.input = input;
  shape.height = shape.width = 8;
  shape.channels = 1;
  shape.features = 2;
  shape.max_outputs = 3;
  return shape;
}

Checkpoint weights_of(const Config& config, const TaskShape& shape) {
  Parameters<float> parameters(1);
  const auto model = make_model<float>(config, shape, parameters);
  Checkpoint weights;
  weights.parameters = capture(parameters);
  return weights;
}

Config small_config() {
  Config config;
  config.task = "small";
  config.model.width = 8;
  config.model.heads = 2;
  return config;
}

// Exports the model of a config where there is such a model for such a task; says whether there is.
bool is_built(const Config& config, const TaskShape& shape) {
  Checkpoint weights;
  try {
    weights = weights_of(config, shape);
  } catch (const ConfigError&) {
    return false;
  } catch (const ShapeError&) {
    return false;
  }
  // finish() has ONNX's own checker over it.
  EXPECT_GT(to_onnx(config, shape, weights).size(), 1000u);
  return true;
}

TEST(Onnx, EveryWordOfEveryKeyIsBuilt) {
  int models = 0;
  for (const detail::ConfigKey& key : detail::config_keys()) {
    if (key.section != "model" || key.spec.name == "preset") continue;  // sets other keys
    for (const std::string& word : key.spec.choices) {
      int built = 0;
      for (const char* kind : {"encoder", "encoder_decoder", "window_mlp"}) {
        for (const InputKind input : {InputKind::tokens, InputKind::image, InputKind::vectors}) {
          Config config = small_config();
          config.model.kind = kind;
          config.model.pool = "mean";
          key.set(config, word);
          TaskShape shape = small_shape(input);
          shape.graph = input == InputKind::tokens;
          if (config.model.kind == "encoder_decoder") shape.output = OutputKind::generated;
          built += is_built(config, shape);
        }
      }
      EXPECT_GT(built, 0) << key.name() << " = " << word;
      models += built;
    }
  }
  EXPECT_GE(models, 150);
}

TEST(Onnx, SettingsThatNobodyKnowsAreListed) {
  Config config = small_config();
  config.model.norm = "post";
  config.model.qkv_bias = true;
  config.model.width = 9;
  const KnownModel known = {{"width", {}}, {"norm", {"pre", "none"}}};
  EXPECT_EQ(unknown_settings(config, known),
            (std::vector<std::string>{"model.heads = 2", "model.norm = \"post\"",
                                      "model.qkv_bias = true"}));
  EXPECT_EQ(unknown_settings(Config{}, {}), std::vector<std::string>{});
}

TEST(Onnx, EveryWeightHasItsPlace) {
  const Config config = small_config();
  const TaskShape shape = small_shape();
  const Checkpoint good = weights_of(config, shape);
  EXPECT_EQ(to_onnx(config, shape, good), to_onnx(config, shape, good));
  Checkpoint more = good;
  more.parameters.push_back({"encoder.more", zeros<float>({2})});
  EXPECT_EQ(message_of<CheckpointError>([&] { to_onnx(config, shape, more); }),
            "cannot be exported to ONNX: the graph does not use encoder.more");
  Checkpoint less = good;
  less.parameters.erase(less.parameters.begin());
  EXPECT_EQ(message_of<CheckpointError>([&] { to_onnx(config, shape, less); }),
            "there is no weight " + good.parameters[0].name);
  Checkpoint huge = good;
  huge.parameters[0].tensor =
      full<double>(std::get<Tensor<float>>(good.parameters[0].tensor).shape(), 1e300);
  EXPECT_NE(message_of<NumericError>([&] { to_onnx(config, shape, huge); }).find("not finite"),
            std::string::npos);
}

TEST(Onnx, ItsOwnCheckerSeesShapesThatDoNotFit) {
  Config config = small_config();
  config.model.positions = "none";  // libonnx 1.12 knows no extents behind a slice
  config.model.pool = "mean";
  const TaskShape shape = small_shape();
  Checkpoint weights = weights_of(config, shape);
  for (NamedTensor& t : weights.parameters) {
    if (t.name == "encoder.layers.0.linear1.weight") t.tensor = zeros<float>({32, 9});
  }
  EXPECT_TRUE(message_of<CheckpointError>([&] {
                to_onnx(config, shape, weights);
              }).starts_with("ONNX's own checker: "));
}

}  // namespace
}  // namespace xgrad
