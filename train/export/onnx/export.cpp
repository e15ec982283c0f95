#include <xgrad/train/export/onnx/export.hpp>

#include <fmt/format.h>

#include <map>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/excerpt.hpp>
#include <xgrad/train/export/known_model.hpp>
#include <xgrad/train/export/onnx/layers.hpp>
#include <xgrad/version.hpp>

namespace xgrad {

namespace {

using onnx_export::Builder;
using onnx_export::Value;

// The settings that the functions of layers.hpp support.
KnownModel known_model() {
  KnownModel known = plain_encoder();
  known["kind"] = {"encoder", "encoder_decoder", "mlp", "window_mlp"};
  for (const char* positions :
       {"learned_2d", "relative_index", "rotary", "alibi", "relative_bias"}) {
    known["positions"].push_back(positions);
  }
  known["normalization"].push_back("batch");
  known["pool"].insert(known["pool"].end(), {"max", "attention"});
  known["input"] = {"embedding", "one_hot"};
  known["mask"] = {"none", "causal", "adjacency"};
  known["score"] = {"dot", "cosine", "additive"};
  known["attention_activation"] = {"softmax", "relu", "squared_relu", "sigmoid", "sparsemax"};
  for (const char* any : {"embedding_norm", "max_distance", "cross_positions", "window", "out_proj",
                          "exclude_self", "scale", "temperature", "log_scale", "attention_mean"}) {
    known[any] = {};
  }
  return known;
}

const std::map<std::string, Value (*)(Builder&)> kModels = {
    {"encoder", onnx_export::encoder_model},
    {"encoder_decoder", onnx_export::encoder_decoder_model},
    {"mlp", onnx_export::window_mlp},
    {"window_mlp", onnx_export::window_mlp}};

OnnxGraph::Axes output_axes(const Config& config, const TaskShape& shape) {
  const std::string classes = std::to_string(shape.classes);
  if (shape.output == OutputKind::sequence) return {"batch", classes};
  if (shape.output == OutputKind::generated) return {"batch", "outputs", classes};
  if (shape.input != InputKind::image) return {"batch", "length", classes};
  const std::size_t side = config.model.patch;
  return {"batch", std::to_string(shape.height / side * (shape.width / side)), classes};
}

void add_metadata(OnnxGraph& graph, const TaskShape& shape, const Checkpoint& weights) {
  graph.metadata("config", weights.config);
  graph.metadata("xgrad_version", kVersion);
  graph.metadata("step", std::to_string(weights.step));
  if (!shape.class_names.empty()) graph.metadata("labels", joined(shape.class_names, "\n"));
  if (!shape.token_names.empty()) graph.metadata("vocabulary", joined(shape.token_names, "\n"));
  if (!shape.value_mean.empty()) {
    graph.metadata("value_mean", fmt::to_string(fmt::join(shape.value_mean, "\n")));
    graph.metadata("value_deviation", fmt::to_string(fmt::join(shape.value_deviation, "\n")));
  }
  if (shape.output == OutputKind::generated) {
    graph.metadata("begin_id", std::to_string(shape.classes));
    graph.metadata("end_id", std::to_string(shape.classes - 1));
  }
}

}  // namespace

std::string to_onnx(const Config& config, const TaskShape& shape, const Checkpoint& weights) {
  const std::vector<std::string> unknown = unknown_settings(config, known_model());
  check<ConfigError>(unknown.empty(), "cannot be exported to ONNX: ", joined(unknown));
  Builder graph(config.model, shape, weights.parameters);
  graph.output(kModels.at(config.model.kind)(graph), "logits", output_axes(config, shape));

  const std::vector<std::string> unused = graph.unused_weights();
  check<CheckpointError>(unused.empty(), "cannot be exported to ONNX: the graph does not use ",
                         joined(unused));
  add_metadata(graph, shape, weights);
  return graph.finish(config.task);
}

}  // namespace xgrad
