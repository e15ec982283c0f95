#include <xgrad/layers/positions.hpp>

#include <algorithm>

#include <xgrad/train/export/onnx/layers.hpp>

namespace xgrad::onnx_export {

namespace {

using Integers = std::vector<std::int64_t>;

std::string text(std::size_t n) {
  return std::to_string(n);
}

// (B, H, W, C) -> (B, patches, D): the linear layer on patches is a convolution.
Value patches(Builder& b, const Value& image, const std::string& path) {
  OnnxGraph& g = b.graph;
  const ModelConfig& m = b.config.model;
  const auto patch = std::int64_t(m.patch), overlap = std::int64_t(m.patch_overlap);
  const std::int64_t side = patch + 2 * overlap, channels = std::int64_t(b.shape.channels);
  const Integers channels_first = {0, 3, 1, 2};
  const Value rows =
      g("Reshape", {g.weight(path + ".weight"), g.integers({-1, side, side, channels})});
  const Value kernels = g("Transpose", {rows}, {{"perm", channels_first}});
  const Value pixels = g("Transpose", {image}, {{"perm", channels_first}});
  const Value maps = g("Conv", {pixels, kernels, g.weight(path + ".bias")},
                       {{"strides", Integers{patch, patch}}, {"pads", Integers(4, overlap)}});
  const Value sorted = g("Reshape", {maps, g.integers({0, std::int64_t(m.width), -1})});
  return g("Transpose", {sorted}, {{"perm", Integers{0, 2, 1}}});
}

Value input(Builder& b, const std::string& path) {
  OnnxGraph& g = b.graph;
  const TaskShape& s = b.shape;
  if (s.input == InputKind::image) {
    const Value image = g.input("image", OnnxGraph::Type::f32,
                                {"batch", text(s.height), text(s.width), text(s.channels)});
    return patches(b, image, path + ".patch");
  }
  const bool vectors = s.input == InputKind::vectors;
  const Value x =
      vectors ? g.input("vectors", OnnxGraph::Type::f32, {"batch", "length", text(s.features)})
              : g.input("ids", OnnxGraph::Type::i64, {"batch", "length"});
  b.mask = g.input("mask", OnnxGraph::Type::boolean, {"batch", "length"});
  if (b.config.model.mask == "adjacency") {
    b.adjacency = g.input("adjacency", OnnxGraph::Type::boolean, {"batch", "length", "length"});
  }
  if (vectors) return linear(b, x, path + ".vector.");
  if (b.config.model.input == "embedding")
    return g("Gather", {g.weight(path + ".token.weight"), x});
  // A one-hot vector times a matrix selects one of its rows.
  const Value rows =
      g("Transpose", {g.weight(path + ".one_hot.weight")}, {{"perm", Integers{1, 0}}});
  return g("Add", {g("Gather", {rows, x}), g.weight(path + ".one_hot.bias")});
}

const OnnxGraph::Attribute kAlong = {"axis", std::int64_t{1}};

// Expands x to the shape that the extents form together.
Value tile(Builder& b, const Value& x, const std::vector<Value>& extents) {
  OnnxGraph& g = b.graph;
  return g("Expand", {x, g("Concat", extents, {{"axis", std::int64_t{0}}})});
}

// Extends adjacency by the class token: it attends to all tokens, but none attends to it. See
// InputEmbedding::adjacency.
Value with_class_token(Builder& b, const Value& adjacency, const Value& batch) {
  OnnxGraph& g = b.graph;
  const Value one = g.integers({1}), tokens = extent(b, adjacency, 1);
  const auto same = [&](std::uint8_t value, const std::vector<Value>& extents) {
    return tile(b, g.mask(full<std::uint8_t>({1, 1, 1}, value)), extents);
  };
  const Value unseen = same(0, {batch, tokens, one});
  const Value wider = g("Concat", {unseen, adjacency}, {{"axis", std::int64_t{2}}});
  return g("Concat", {same(1, {batch, one, extent(b, wider, 2)}), wider}, {kAlong});
}

// Prepends the class token to x (B, N, D) and to the masks.
Value with_class_token(Builder& b, const Value& x, const std::string& name, const Value& batch) {
  OnnxGraph& g = b.graph;
  if (!b.mask.empty()) {
    const Value present = g.mask(full<std::uint8_t>({1, 1}, 1));
    b.mask = g("Concat", {tile(b, present, {batch, g.integers({1})}), b.mask}, {kAlong});
  }
  if (!b.adjacency.empty()) b.adjacency = with_class_token(b, b.adjacency, batch);
  const auto width = std::int64_t(b.config.model.width);
  return g("Concat", {tile(b, g.weight(name), {batch, g.integers({1, width})}), x}, {kAlong});
}

// Sums an embedding for the row and one for the column of each patch; zeros for a class token.
Value grid(Builder& b, const std::string& path) {
  OnnxGraph& g = b.graph;
  const Value rows = g("Unsqueeze", {g.weight(path + ".row_weight"), g.integers({1})});
  const Value columns = g("Unsqueeze", {g.weight(path + ".column_weight"), g.integers({0})});
  const auto width = std::int64_t(b.config.model.width);
  const Value all = g("Reshape", {g("Add", {rows, columns}), g.integers({-1, width})});
  if (!g.has_weight("embedding.class_token")) return all;
  const Value none = g.tensor(zeros<float>({1, b.config.model.width}));
  return g("Concat", {none, all}, {{"axis", std::int64_t{0}}});
}

// Returns i/n and (-1)^i (B, N, 2) for the unmasked tokens, as relative_index() does.
Value relative_places(Builder& b, const Value& x) {
  OnnxGraph& g = b.graph;
  const OnnxGraph::Attribute to_float = {"to", std::int64_t{1}};
  const OnnxGraph::Attribute first = {"start", std::int64_t{0}}, end = {"end", std::int64_t{2}};
  const Value kept = b.mask.empty() ? g("Expand", {g.scalar(1), g("Shape", {x}, {first, end})})
                                    : g("Cast", {b.mask}, {to_float});
  const Value place = g("Sub", {g("CumSum", {kept, g.integers({1})}), kept});
  const Value count = g("ReduceSum", {kept, g.integers({1})});
  const Value part = g("Div", {place, g("Max", {count, g.scalar(1)})});
  const Value odd = g("Mod", {place, g.scalar(2)}, {{"fmod", std::int64_t{1}}});
  const Value sign = g("Sub", {g.scalar(1), g("Mul", {odd, g.scalar(2)})});
  const auto column = [&](const Value& y) {
    return g("Unsqueeze", {g("Mul", {y, kept}), g.integers({2})});
  };
  return g("Concat", {column(part), column(sign)}, {{"axis", std::int64_t{2}}});
}

Value with_positions(Builder& b, const Value& x, const std::string& path, const std::string& kind) {
  OnnxGraph& g = b.graph;
  if (kind == "learned_2d") return g("Add", {x, grid(b, path)});
  if (kind == "relative_index") {
    return g("Add", {x, linear(b, relative_places(b, x), path + ".")});
  }
  if (kind != "learned" && kind != "sinusoidal") return x;  // other kinds are applied in attention
  const Value table = kind == "learned"
                          ? g.weight(path + ".weight")
                          : g.tensor(sinusoidal_positions<float>(longest(b), b.config.model.width));
  const Value rows = g("Slice", {table, g.integers({0}), extent(b, x, 1), g.integers({0})});
  return g("Add", {x, rows});
}

Value normalized(Builder& b, const Value& x, const std::string& path) {
  return b.config.model.embedding_norm ? norm(b, x, path + ".norm") : x;
}

}  // namespace

Value embedding(Builder& b, const std::string& path) {
  Value x = input(b, path);
  const std::string class_token = path + ".class_token";
  if (b.graph.has_weight(class_token)) x = with_class_token(b, x, class_token, extent(b, x, 0));
  return normalized(b, with_positions(b, x, path + ".position", b.config.model.positions), path);
}

Value output_embedding(Builder& b, const std::string& path) {
  OnnxGraph& g = b.graph;
  const Value ids = g.input("decoder_ids", OnnxGraph::Type::i64, {"batch", "outputs"});
  const Value x = g("Gather", {g.weight(path + ".token.weight"), ids});
  const std::string& kind = b.config.model.positions;
  const std::string positions = kind == "learned_2d" ? "learned" : kind;
  return normalized(b, with_positions(b, x, path + ".position", positions), path);
}

std::size_t longest(const Builder& b) {
  const TaskShape& s = b.shape;
  const std::size_t side = b.config.model.patch;
  const bool image = s.input == InputKind::image;
  const std::size_t read = image ? s.height / side * (s.width / side) : s.max_length;
  return std::max(1 + read, s.max_outputs);
}

Value extent(Builder& b, const Value& x, std::int64_t axis) {
  return b.graph("Shape", {x}, {{"start", axis}, {"end", axis + 1}});
}

}  // namespace xgrad::onnx_export
