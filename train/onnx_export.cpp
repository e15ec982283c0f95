#include <xgrad/train/onnx_export.hpp>

#include <xgrad/autograd/check.hpp>
#include <xgrad/train/known_model.hpp>
#include <xgrad/train/onnx/layers.hpp>
#include <xgrad/version.hpp>

namespace xgrad {

namespace {

// What the functions of layers.hpp build.
const KnownModel kKnown = {
    {"kind", {"encoder"}},
    {"width", {}},
    {"heads", {}},
    {"head_dim", {}},
    {"layers", {}},
    {"feedforward", {}},
    {"dropout", {}},
    {"attention_dropout", {}},
    {"norm", {"pre", "post", "sandwich", "none"}},
    {"normalization", {"layer", "rms"}},
    {"final_norm", {}},
    {"norm_eps", {}},
    {"activation", {"gelu", "gelu_tanh", "relu", "silu"}},
    {"positions", {"none", "learned", "learned_2d", "sinusoidal", "relative_index", "rotary"}},
    {"pool", {"cls", "mean", "max", "attention"}},
    {"input", {"embedding", "one_hot"}},
    {"patch", {}},
    {"qkv_bias", {}},
    {"out_bias", {}},
    {"init_from", {}}};

std::string joined(const std::vector<std::string>& parts, const char* separator) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : separator) + part;
  return text;
}

void check_known(const Config& config, const TaskShape& shape) {
  std::vector<std::string> unknown = unknown_settings(config, kKnown);
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
