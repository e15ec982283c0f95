#include <xgrad/layers/positions.hpp>
#include <xgrad/train/onnx/layers.hpp>

namespace xgrad::onnx_export {

namespace {

using Integers = std::vector<std::int64_t>;

std::string text(std::size_t n) {
  return std::to_string(n);
}

// (B, H, W, C) -> (B, patches, P P C), as patchify() cuts.
Value patches(Builder& b, const Value& image) {
  OnnxGraph& g = b.graph;
  const TaskShape& s = b.shape;
  const auto side = std::int64_t(b.config.model.patch), channels = std::int64_t(s.channels);
  const std::int64_t rows = std::int64_t(s.height) / side, columns = std::int64_t(s.width) / side;
  const Value cut = g("Reshape", {image, g.integers({0, rows, side, columns, side, channels})});
  const Value sorted = g("Transpose", {cut}, {{"perm", Integers{0, 1, 3, 2, 4, 5}}});
  return g("Reshape", {sorted, g.integers({0, rows * columns, side * side * channels})});
}

Value input(Builder& b, const std::string& path) {
  OnnxGraph& g = b.graph;
  const TaskShape& s = b.shape;
  if (s.input == InputKind::image) {
    const Value image = g.input("image", OnnxGraph::Type::f32,
                                {"batch", text(s.height), text(s.width), text(s.channels)});
    return linear(b, patches(b, image), path + ".patch.");
  }
  const Value ids = g.input("ids", OnnxGraph::Type::i64, {"batch", "length"});
  b.mask = g.input("mask", OnnxGraph::Type::boolean, {"batch", "length"});
  return g("Gather", {g.weight(path + ".token.weight"), ids});
}

// A row of x's extent along an axis: (1)
Value extent(Builder& b, const Value& x, std::int64_t axis) {
  return b.graph("Shape", {x}, {{"start", axis}, {"end", axis + 1}});
}

// In front of x (B, N, D) and of the mask.
Value with_class_token(Builder& b, const Value& x, const std::string& name) {
  OnnxGraph& g = b.graph;
  const Value batch = extent(b, x, 0);
  const auto tile = [&](const Value& row, const Integers& rest) {
    const Value shape = g("Concat", {batch, g.integers(rest)}, {{"axis", std::int64_t{0}}});
    return g("Expand", {row, shape});
  };
  const OnnxGraph::Attribute along = {"axis", std::int64_t{1}};
  if (!b.mask.empty()) {
    const Value present = tile(g.mask(full<std::uint8_t>({1, 1}, 1)), {1});
    b.mask = g("Concat", {present, b.mask}, {along});
  }
  const auto width = std::int64_t(b.config.model.width);
  return g("Concat", {tile(g.weight(name), {1, width}), x}, {along});
}

Value with_positions(Builder& b, const Value& x, const std::string& name) {
  OnnxGraph& g = b.graph;
  const std::string& kind = b.config.model.positions;
  if (kind == "none") return x;
  const TaskShape& s = b.shape;
  const std::size_t side = b.config.model.patch;
  const std::size_t longest =
      1 + (s.input == InputKind::image ? s.height / side * (s.width / side) : s.max_length);
  const Value table = kind == "learned"
                          ? g.weight(name)
                          : g.tensor(sinusoidal_positions<float>(longest, b.config.model.width));
  const Value rows = g("Slice", {table, g.integers({0}), extent(b, x, 1), g.integers({0})});
  return g("Add", {x, rows});
}

}  // namespace

Value embedding(Builder& b, const std::string& path) {
  Value x = input(b, path);
  const std::string class_token = path + ".class_token";
  if (b.graph.has_weight(class_token)) x = with_class_token(b, x, class_token);
  return with_positions(b, x, path + ".position.weight");
}

Value pooling(Builder& b, const Value& x) {
  OnnxGraph& g = b.graph;
  if (b.shape.output == OutputKind::tokens) return x;
  if (b.config.model.pool == "cls") {
    return g("Squeeze",
             {g("Slice", {x, g.integers({0}), g.integers({1}), g.integers({1})}), g.integers({1})});
  }
  const OnnxGraph::Attribute drop = {"keepdims", std::int64_t{0}};
  if (b.mask.empty()) return g("ReduceMean", {x}, {{"axes", Integers{1}}, drop});
  const OnnxGraph::Attribute to_float = {"to", std::int64_t{1}};
  const Value keep = g("Unsqueeze", {g("Cast", {b.mask}, {to_float}), g.integers({2})});
  const Value sum = g("ReduceSum", {g("Mul", {x, keep}), g.integers({1})}, {drop});
  const Value count = g("ReduceSum", {keep, g.integers({1})}, {drop});
  return g("Div", {sum, g("Max", {count, g.scalar(1)})});
}

}  // namespace xgrad::onnx_export
