#include <cmath>

#include <xgrad/train/export/onnx/layers.hpp>

namespace xgrad::onnx_export {

namespace {

const OnnxGraph::Attribute kDrop = {"keepdims", 0};

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
  const OnnxGraph::Attribute tokens = {"axes", Integers{1}};
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
  std::vector<OnnxGraph::Input> shifted;
  for (std::int64_t i = 0; i < std::int64_t(g.model.window); ++i) {
    const Integers begin{i};
    shifted.push_back(g("Slice", {longer, begin, g("Add", {tokens, begin}), Integers{1}}));
  }
  return g("Concat", shifted, {{"axis", 2}});
}

Value head(Builder& g, const Value& x) {
  return linear(g, x, "head.");
}

}  // namespace

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

}  // namespace xgrad::onnx_export
