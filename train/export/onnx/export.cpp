#include <xgrad/train/export/export.hpp>

#include <fmt/format.h>

#include <cmath>
#include <map>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/excerpt.hpp>
#include <xgrad/train/export/onnx/layers.hpp>
#include <xgrad/version.hpp>

namespace xgrad::onnx_export {

namespace {

const Builder::Attribute kDrop = {"keepdims", 0};

// The mask as (B, N, 1), true for a token; empty if nothing is padded.
Value column(Builder& g) {
  return g.mask.empty() ? Value() : g("Unsqueeze", {g.mask, Integers{2}});
}

Value mean(Builder& g, const Value& x) {
  if (g.mask.empty()) return g("ReduceMean", {x}, {{"axes", Integers{1}}, kDrop});
  const Value keep = g.as_float(column(g));
  const Value sum = g("ReduceSum", {g("Mul", {x, keep}), Integers{1}}, {kDrop});
  const Value count = g("ReduceSum", {keep, Integers{1}}, {kDrop});
  return g("Div", {sum, g("Max", {count, 1.0f})});
}

Value max(Builder& g, const Value& x) {
  const Builder::Attribute tokens = {"axes", Integers{1}};
  const Value keep = column(g);
  const Value y = g("ReduceMax", {where(g, keep, x, kLowest)}, {tokens, kDrop});
  if (keep.empty()) return y;
  const Value any = g("ReduceMax", {g.as_float(keep)}, {tokens, kDrop});
  return g("Where", {g("Greater", {any, 0.0f}), y, 0.0f});
}

// Attention pooling with a learned query.
Value attend(Builder& g, const Value& x) {
  const Value query = g("Unsqueeze", {g.weight("pool.query"), Integers{1}}), keep = column(g);
  const auto scale = float(1 / std::sqrt(double(g.shape_of("pool.query")[0])));
  const Value scores = g("Mul", {g("MatMul", {x, query}), scale});  // (B, N, 1)
  const Value p = g("Softmax", {where(g, keep, scores, kLowest)}, {{"axis", 1}});
  return g("ReduceSum", {g("Mul", {x, where(g, keep, p, 0)}), Integers{1}}, {kDrop});
}

// (B, N, D) -> (B, D) for sequence outputs; x unchanged for token outputs.
Value pooling(Builder& g, const Value& x) {
  if (g.shape.output == OutputKind::tokens) return x;
  const std::string& kind = g.model.pool;
  if (kind == "mean") return mean(g, x);
  if (kind == "max") return max(g, x);
  if (kind == "attention") return attend(g, x);
  const Value first = g("Slice", {x, Integers{0}, Integers{1}, Integers{1}});
  return g("Squeeze", {first, Integers{1}});
}

// (B, N, D) -> (B, N, window D): concatenates each token's neighbours, with 0 outside of the
// sequence and for padding.
Value windows(Builder& g, Value x) {
  if (g.model.kind == "mlp" || g.model.window == 1) return x;
  const Value tokens = extent(g, x, 1);
  x = where(g, column(g), x, 0);
  const auto half = std::int64_t(g.model.window / 2);
  const Value longer = g("Pad", {x, Integers{0, half, 0, 0, half, 0}});
  std::vector<Builder::Input> shifted;
  for (std::int64_t i = 0; i < std::int64_t(g.model.window); ++i) {
    const Integers begin{i};
    shifted.push_back(g("Slice", {longer, begin, g("Add", {tokens, begin}), Integers{1}}));
  }
  return g("Concat", shifted, {{"axis", 2}});
}

Value head(Builder& g, const Value& x) {
  return linear(g, x, "head.");
}

// The models of [model] kind, from inputs to logits. `mlp` is a window_mlp with window 1.
Value encoder_model(Builder& g) {
  const Value x = embedding(g, "embedding");
  return head(g, pooling(g, encoder(g, x, "encoder")));
}

Value window_mlp(Builder& g) {
  Value x = windows(g, embedding(g, "embedding"));
  for (std::size_t i = 0; i < g.model.layers; ++i) {
    x = activation(g, linear(g, x, "layers." + std::to_string(i) + "."));
  }
  return head(g, pooling(g, x));
}

Value encoder_decoder_model(Builder& g) {
  const Value memory = encoder(g, embedding(g, "embedding"), "encoder");
  const Value x = output_embedding(g, "output_embedding");
  return head(g, decoder(g, x, memory, "decoder"));
}

const std::map<std::string, Value (*)(Builder&)> kModels = {
    {"encoder", encoder_model},
    {"encoder_decoder", encoder_decoder_model},
    {"mlp", window_mlp},
    {"window_mlp", window_mlp}};

}  // namespace

}  // namespace xgrad::onnx_export

namespace xgrad {

// The settings that the functions of layers.hpp support.
KnownModel known_to_onnx() {
  KnownModel known = plain_encoder();
  known["kind"] = {"encoder", "encoder_decoder", "mlp", "window_mlp"};
  const auto add = [&](const char* key, std::initializer_list<const char*> words) {
    known[key].insert(known[key].end(), words.begin(), words.end());
  };
  add("positions", {"learned_2d", "relative_index", "rotary", "alibi", "relative_bias"});
  add("normalization", {"batch"});
  add("pool", {"max", "attention"});
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

namespace {

onnx_export::Builder::Axes output_axes(const Config& config, const TaskShape& shape) {
  const std::string classes = std::to_string(shape.classes);
  if (shape.output == OutputKind::sequence) return {"batch", classes};
  if (shape.output == OutputKind::generated) return {"batch", "outputs", classes};
  if (shape.input != InputKind::image) return {"batch", "length", classes};
  const std::size_t side = config.model.patch;
  return {"batch", std::to_string(shape.height / side * (shape.width / side)), classes};
}

void add_metadata(onnx_export::Builder& graph, const TaskShape& shape, const Checkpoint& weights) {
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
  const std::vector<std::string> unknown = unknown_settings(config, known_to_onnx());
  check<ConfigError>(unknown.empty(), "cannot be exported to ONNX: ", joined(unknown));
  onnx_export::Builder graph(config.model, shape, weights.parameters);
  graph.output(onnx_export::kModels.at(config.model.kind)(graph), "logits",
               output_axes(config, shape));

  const std::vector<std::string> unused = graph.unused_weights();
  check<CheckpointError>(unused.empty(), "cannot be exported to ONNX: the graph does not use ",
                         joined(unused));
  add_metadata(graph, shape, weights);
  return graph.finish(config.task);
}

}  // namespace xgrad
