#include <cmath>
#include <limits>

#include <xgrad/train/export/onnx/layers.hpp>

namespace xgrad::onnx_export {

namespace {

using Integers = std::vector<std::int64_t>;
const OnnxGraph::Attribute kDrop = {"keepdims", std::int64_t{0}};

// The mask as (B, N, 1), true for a token.
Value column(Builder& b) {
  return b.graph("Unsqueeze", {b.mask, b.graph.integers({2})});
}

Value lowest(Builder& b) {
  return b.graph.scalar(std::numeric_limits<float>::lowest());
}

Value mean(Builder& b, const Value& x) {
  OnnxGraph& g = b.graph;
  if (b.mask.empty()) return g("ReduceMean", {x}, {{"axes", Integers{1}}, kDrop});
  const Value keep = g("Cast", {column(b)}, {{"to", std::int64_t{1}}});
  const Value sum = g("ReduceSum", {g("Mul", {x, keep}), g.integers({1})}, {kDrop});
  const Value count = g("ReduceSum", {keep, g.integers({1})}, {kDrop});
  return g("Div", {sum, g("Max", {count, g.scalar(1)})});
}

Value max(Builder& b, const Value& x) {
  OnnxGraph& g = b.graph;
  const OnnxGraph::Attribute tokens = {"axes", Integers{1}};
  if (b.mask.empty()) return g("ReduceMax", {x}, {tokens, kDrop});
  const Value y = g("ReduceMax", {g("Where", {column(b), x, lowest(b)})}, {tokens, kDrop});
  const Value keep = g("Cast", {column(b)}, {{"to", std::int64_t{1}}});
  const Value any = g("Cast", {g("ReduceMax", {keep}, {tokens, kDrop})}, {{"to", std::int64_t{9}}});
  return g("Where", {any, y, g.scalar(0)});
}

// Attention pooling with a learned query.
Value attend(Builder& b, const Value& x) {
  OnnxGraph& g = b.graph;
  const Value query = g("Unsqueeze", {g.weight("pool.query"), g.integers({1})});
  const Value scale = g.scalar(float(1 / std::sqrt(double(g.shape_of("pool.query")[0]))));
  const Value scores = g("Mul", {g("MatMul", {x, query}), scale});  // (B, N, 1)
  const OnnxGraph::Attribute tokens = {"axis", std::int64_t{1}};
  Value p;
  if (b.mask.empty()) {
    p = g("Softmax", {scores}, {tokens});
  } else {
    p = g("Softmax", {g("Where", {column(b), scores, lowest(b)})}, {tokens});
    p = g("Where", {column(b), p, g.scalar(0)});
  }
  return g("ReduceSum", {g("Mul", {x, p}), g.integers({1})}, {kDrop});
}

}  // namespace

Value pooling(Builder& b, const Value& x) {
  OnnxGraph& g = b.graph;
  if (b.shape.output == OutputKind::tokens) return x;
  const std::string& kind = b.config.model.pool;
  if (kind == "mean") return mean(b, x);
  if (kind == "max") return max(b, x);
  if (kind == "attention") return attend(b, x);
  const Value first = g("Slice", {x, g.integers({0}), g.integers({1}), g.integers({1})});
  return g("Squeeze", {first, g.integers({1})});
}

}  // namespace xgrad::onnx_export
