#include <xgrad/train/onnx_export.hpp>

#include <fmt/format.h>

#include <xgrad/autograd/check.hpp>
#include <xgrad/train/known_model.hpp>
#include <xgrad/train/onnx/layers.hpp>
#include <xgrad/version.hpp>

namespace xgrad {

namespace {

// What the functions of layers.hpp build.
KnownModel known_model() {
  KnownModel known = plain_encoder();
  known["positions"].insert(known["positions"].end(), {"learned_2d", "relative_index", "rotary"});
  known["pool"].insert(known["pool"].end(), {"max", "attention"});
  known["input"] = {"embedding", "one_hot"};
  return known;
}

std::string joined(const std::vector<std::string>& parts, const char* separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

void check_known(const Config& config, const TaskShape& shape) {
  std::vector<std::string> unknown = unknown_settings(config, known_model());
  if (shape.graph) unknown.push_back("a task of graphs");
  check<ConfigError>(unknown.empty(), "cannot be exported to ONNX: ", joined(unknown, ", "));
}

void add_metadata(OnnxGraph& graph, const TaskShape& shape, const Checkpoint& weights) {
  graph.metadata("config", weights.config);
  graph.metadata("xgrad_version", kVersion);
  graph.metadata("step", std::to_string(weights.step));
  if (!shape.class_names.empty()) graph.metadata("labels", joined(shape.class_names, "\n"));
  if (!shape.token_names.empty()) graph.metadata("vocabulary", joined(shape.token_names, "\n"));
}

}  // namespace

std::string to_onnx(const Config& config, const TaskShape& shape, const Checkpoint& weights) {
  check_known(config, shape);
  OnnxGraph graph(weights.parameters);
  onnx_export::Builder builder{config, shape, graph};

  OnnxGraph::Value x = onnx_export::embedding(builder, "embedding");
  x = onnx_export::encoder(builder, x, "encoder");
  x = onnx_export::pooling(builder, x);
  x = onnx_export::linear(builder, x, "head.");
  const std::string classes = std::to_string(shape.classes);
  const bool images = shape.input == InputKind::image;
  const std::string length =
      images
          ? std::to_string(shape.height / config.model.patch * (shape.width / config.model.patch))
          : "length";
  graph.output(x, "logits",
               shape.output == OutputKind::sequence ? OnnxGraph::Axes{"batch", classes}
                                                    : OnnxGraph::Axes{"batch", length, classes});

  const std::vector<std::string> unused = graph.unused_weights();
  check<CheckpointError>(unused.empty(), "cannot be exported to ONNX: it has no place for ",
                         joined(unused, ", "));
  add_metadata(graph, shape, weights);
  return graph.finish(config.task);
}

}  // namespace xgrad
