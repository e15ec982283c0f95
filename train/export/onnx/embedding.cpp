#include <xgrad/layers/positions.hpp>

#include <algorithm>

#include <xgrad/train/export/onnx/layers.hpp>

namespace xgrad::onnx_export {

namespace {

// (B, H, W, C) -> (B, patches, D): the linear layer on patches is a convolution.
Value patches(Builder& g, const Value& image, const std::string& path) {
  const ModelConfig& m = g.model;
  const auto patch = std::int64_t(m.patch), overlap = std::int64_t(m.patch_overlap);
  const std::int64_t side = patch + 2 * overlap, channels = std::int64_t(g.shape.channels);
  const Integers channels_first = {0, 3, 1, 2};
  const Value rows = g("Reshape", {g.weight(path + ".weight"), Integers{-1, side, side, channels}});
  const Value kernels = g("Transpose", {rows}, {{"perm", channels_first}});
  const Value pixels = g("Transpose", {image}, {{"perm", channels_first}});
  const Value maps = g("Conv", {pixels, kernels, g.weight(path + ".bias")},
                       {{"strides", Integers{patch, patch}}, {"pads", Integers(4, overlap)}});
  const Value sorted = g("Reshape", {maps, Integers{0, std::int64_t(m.width), -1}});
  return g.transpose(sorted, {0, 2, 1});
}

Value input(Builder& g, const std::string& path) {
  const TaskShape& s = g.shape;
  if (s.input == InputKind::image) {
    const Value image = g.input(
        "image", Builder::Type::f32,
        {"batch", std::to_string(s.height), std::to_string(s.width), std::to_string(s.channels)});
    return patches(g, image, path + ".patch");
  }
  const bool vectors = s.input == InputKind::vectors;
  const Value x = vectors ? g.input("vectors", Builder::Type::f32,
                                    {"batch", "length", std::to_string(s.features)})
                          : g.input("ids", Builder::Type::i64, {"batch", "length"});
  g.mask = g.input("mask", Builder::Type::boolean, {"batch", "length"});
  if (g.model.mask == "adjacency") {
    g.adjacency = g.input("adjacency", Builder::Type::boolean, {"batch", "length", "length"});
  }
  if (vectors) return linear(g, x, path + ".vector.");
  if (g.model.input == "embedding") return g("Gather", {g.weight(path + ".token.weight"), x});
  // A one-hot vector times a matrix selects one of its rows.
  const Value rows = g.transpose(g.weight(path + ".one_hot.weight"), {1, 0});
  return g("Add", {g("Gather", {rows, x}), g.weight(path + ".one_hot.bias")});
}

const Builder::Attribute kAlong = {"axis", 1};

// Expands x to the shape that the extents form together.
Value tile(Builder& g, const Builder::Input& x, const std::vector<Builder::Input>& extents) {
  return g("Expand", {x, g("Concat", extents, {{"axis", 0}})});
}

// Extends adjacency by the class token: it attends to all tokens, but none attends to it. See
// InputEmbedding::adjacency.
Value with_class_token(Builder& g, const Value& adjacency, const Value& batch) {
  const Integers one{1};
  const Value tokens = extent(g, adjacency, 1);
  const auto same = [&](std::uint8_t value, const std::vector<Builder::Input>& extents) {
    return tile(g, full<std::uint8_t>({1, 1, 1}, value), extents);
  };
  const Value unseen = same(0, {batch, tokens, one});
  const Value wider = g("Concat", {unseen, adjacency}, {{"axis", 2}});
  return g("Concat", {same(1, {batch, one, extent(g, wider, 2)}), wider}, {kAlong});
}

// Prepends the class token to x (B, N, D) and to the masks.
Value with_class_token(Builder& g, const Value& x, const std::string& name, const Value& batch) {
  if (!g.mask.empty()) {
    const Mask present = full<std::uint8_t>({1, 1}, 1);
    g.mask = g("Concat", {tile(g, present, {batch, Integers{1}}), g.mask}, {kAlong});
  }
  if (!g.adjacency.empty()) g.adjacency = with_class_token(g, g.adjacency, batch);
  const auto width = std::int64_t(g.model.width);
  return g("Concat", {tile(g, g.weight(name), {batch, Integers{1, width}}), x}, {kAlong});
}

// Sums an embedding for the row and one for the column of each patch; zeros for a class token.
Value grid(Builder& g, const std::string& path) {
  const Value rows = g("Unsqueeze", {g.weight(path + ".row_weight"), Integers{1}});
  const Value columns = g("Unsqueeze", {g.weight(path + ".column_weight"), Integers{0}});
  const auto width = std::int64_t(g.model.width);
  const Value all = g("Reshape", {g("Add", {rows, columns}), Integers{-1, width}});
  if (!g.has_weight("embedding.class_token")) return all;
  const Tensor<float> none = zeros<float>({1, g.model.width});
  return g("Concat", {none, all}, {{"axis", 0}});
}

// Returns i/n and (-1)^i (B, N, 2) for the unmasked tokens, as relative_index() does.
Value relative_places(Builder& g, const Value& x) {
  const Builder::Attribute first = {"start", 0}, end = {"end", 2};
  const Value kept =
      g.mask.empty() ? g("Expand", {1.0f, g("Shape", {x}, {first, end})}) : g.as_float(g.mask);
  const Value place = g("Sub", {g("CumSum", {kept, Integers{1}}), kept});
  const Value count = g("ReduceSum", {kept, Integers{1}});
  const Value part = g("Div", {place, g("Max", {count, 1.0f})});
  const Value odd = g("Mod", {place, 2.0f}, {{"fmod", 1}});
  const Value sign = g("Sub", {1.0f, g("Mul", {odd, 2.0f})});
  const auto column = [&](const Value& y) {
    return g("Unsqueeze", {g("Mul", {y, kept}), Integers{2}});
  };
  return g("Concat", {column(part), column(sign)}, {{"axis", 2}});
}

Value with_positions(Builder& g, const Value& x, const std::string& path, const std::string& kind) {
  if (kind == "learned_2d") return g("Add", {x, grid(g, path)});
  if (kind == "relative_index") {
    return g("Add", {x, linear(g, relative_places(g, x), path + ".")});
  }
  if (kind != "learned" && kind != "sinusoidal") return x;  // other kinds are applied in attention
  const Builder::Input table = kind == "learned"
                                   ? Builder::Input(g.weight(path + ".weight"))
                                   : sinusoidal_positions<float>(longest(g), g.model.width);
  const Value rows = g("Slice", {table, Integers{0}, extent(g, x, 1), Integers{0}});
  return g("Add", {x, rows});
}

Value normalized(Builder& g, const Value& x, const std::string& path) {
  return g.model.embedding_norm ? norm(g, x, path + ".norm") : x;
}

}  // namespace

Value embedding(Builder& g, const std::string& path) {
  Value x = input(g, path);
  const std::string class_token = path + ".class_token";
  if (g.has_weight(class_token)) x = with_class_token(g, x, class_token, extent(g, x, 0));
  return normalized(g, with_positions(g, x, path + ".position", g.model.positions), path);
}

Value output_embedding(Builder& g, const std::string& path) {
  const Value ids = g.input("decoder_ids", Builder::Type::i64, {"batch", "outputs"});
  const Value x = g("Gather", {g.weight(path + ".token.weight"), ids});
  const std::string& kind = g.model.positions;
  const std::string positions = kind == "learned_2d" ? "learned" : kind;
  return normalized(g, with_positions(g, x, path + ".position", positions), path);
}

std::size_t longest(const Builder& g) {
  const TaskShape& s = g.shape;
  const std::size_t side = g.model.patch;
  const bool image = s.input == InputKind::image;
  const std::size_t read = image ? s.height / side * (s.width / side) : s.max_length;
  return std::max(1 + read, s.max_outputs);
}

Value extent(Builder& g, const Value& x, std::int64_t axis) {
  return g("Shape", {x}, {{"start", axis}, {"end", axis + 1}});
}

}  // namespace xgrad::onnx_export
