#include <cmath>
#include <limits>

#include <xgrad/train/onnx/layers.hpp>

namespace xgrad::onnx_export {

namespace {

using Integers = std::vector<std::int64_t>;

// softmax of (B, H, N, M) over the keys that the mask keeps; zeros where it keeps none. The lowest
// number instead of an infinity keeps such rows free of NaN; the last Where makes them zero.
Value masked_softmax(Builder& b, const Value& scores) {
  OnnxGraph& g = b.graph;
  const OnnxGraph::Attribute last = {"axis", std::int64_t{-1}};
  if (b.mask.empty()) return g("Softmax", {scores}, {last});
  const Value keep = g("Unsqueeze", {b.mask, g.integers({1, 2})});  // (B, 1, 1, M)
  const Value lowest = g.scalar(std::numeric_limits<float>::lowest());
  const Value p = g("Softmax", {g("Where", {keep, scores, lowest})}, {last});
  return g("Where", {keep, p, g.scalar(0)});
}

// x (B, N, H, d): each pair of features (2i, 2i+1) turned by N's place, as rotary_embedding() does.
Value rotary(Builder& b, const Value& x, std::int64_t heads, std::int64_t size) {
  OnnxGraph& g = b.graph;
  const std::size_t places = longest(b), pairs = std::size_t(size) / 2;
  Tensor<float> cosines = empty<float>({places, 1, pairs, 1}), sines = cosines;
  for (std::size_t n = 0; n < places; ++n) {
    for (std::size_t i = 0; i < pairs; ++i) {
      const double angle = double(n) * std::pow(10000.0, -2 * double(i) / double(size));
      cosines(n, 0, i, 0) = float(std::cos(angle));
      sines(n, 0, i, 0) = float(std::sin(angle));
    }
  }
  const auto rows = [&](const Tensor<float>& table) {
    return g("Slice", {g.tensor(table), g.integers({0}), extent(b, x, 1), g.integers({0})});
  };
  const Value c = rows(cosines), s = rows(sines);
  const Value paired = g("Reshape", {x, g.integers({0, 0, heads, size / 2, 2})});
  const std::vector<Value> p = g.split(paired, 4, {1, 1});
  const Value first = g("Sub", {g("Mul", {p[0], c}), g("Mul", {p[1], s})});
  const Value second = g("Add", {g("Mul", {p[0], s}), g("Mul", {p[1], c})});
  const Value turned = g("Concat", {first, second}, {{"axis", std::int64_t{4}}});
  return g("Reshape", {turned, g.integers({0, 0, heads, size})});
}

}  // namespace

Value attention(Builder& b, const Value& x, const std::string& path) {
  OnnxGraph& g = b.graph;
  const auto heads = std::int64_t(b.config.model.heads);
  const auto inner = std::int64_t(g.shape_of(path + ".out_proj.weight")[1]);  // H d_h
  const std::int64_t size = inner / heads;

  const Value qkv = linear(b, x, path + ".in_proj_");
  std::vector<Value> parts = g.split(qkv, 2, {inner, inner, inner});
  for (Value& part : parts) {
    part = g("Reshape", {part, g.integers({0, 0, heads, size})});
  }
  if (b.config.model.positions == "rotary") {
    for (const std::size_t i : {0, 1}) parts[i] = rotary(b, parts[i], heads, size);
  }
  const Value q = g("Transpose", {parts[0]}, {{"perm", Integers{0, 2, 1, 3}}});
  const Value k = g("Transpose", {parts[1]}, {{"perm", Integers{0, 2, 3, 1}}});
  const Value v = g("Transpose", {parts[2]}, {{"perm", Integers{0, 2, 1, 3}}});

  const Value scale = g.scalar(float(1 / std::sqrt(double(size))));
  const Value scores = g("MatMul", {g("Mul", {q, scale}), k});  // (B, H, N, M)
  const Value y = g("MatMul", {masked_softmax(b, scores), v});
  const Value joined = g("Transpose", {y}, {{"perm", Integers{0, 2, 1, 3}}});
  return linear(b, g("Reshape", {joined, g.integers({0, 0, inner})}), path + ".out_proj.");
}

}  // namespace xgrad::onnx_export
