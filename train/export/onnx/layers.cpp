#include <xgrad/train/export/onnx/layers.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

#include <xgrad/layers/positions.hpp>

namespace xgrad::onnx_export {

namespace {

// Batch norm with the statistics of the batch at run time, as in xgrad; zeros for padding.
Value batch_norm(Builder& g, const Value& x, const std::string& path) {
  const Builder::Attribute places = {"axes", Integers{0, 1}};
  Builder::Input keep = 1.0f, part = 1.0f;
  if (!g.mask.empty()) {
    keep = g.as_float(g("Unsqueeze", {g.mask, Integers{2}}));
    part = g("Max", {g("ReduceMean", {keep}, {places}), 1e-30f});
  }
  const auto mean = [&](const Value& y) {
    return g("Div", {g("ReduceMean", {y}, {places}), part});
  };
  const Value centred = g("Mul", {g("Sub", {x, mean(g("Mul", {x, keep}))}), keep});
  const Value variance = mean(g("Mul", {centred, centred}));
  const Value deviation = g("Sqrt", {g("Add", {variance, float(g.model.norm_eps)})});
  const Value y = g("Mul", {g("Div", {centred, deviation}), g.weight(path + ".weight")});
  return g("Mul", {g("Add", {y, g.weight(path + ".bias")}), keep});
}

Value norm(Builder& g, const Value& x, const std::string& path) {
  if (g.model.normalization == "batch") return batch_norm(g, x, path);
  if (g.model.normalization == "rms") {
    const Value y = to_root_mean_square_1(g, x, g.model.norm_eps);
    return g("Mul", {y, g.weight(path + ".weight")});
  }
  return g("LayerNormalization", {x, g.weight(path + ".weight"), g.weight(path + ".bias")},
           {{"axis", -1}, {"epsilon", float(g.model.norm_eps)}});
}

// Layers of these sublayers, each in a residual connection, and the final norm. See Residual in
// layers/models/encoder.hpp for the four orders of norms.
using Sublayer = std::function<Value(const Value& x, const std::string& layer)>;
Value stack(Builder& g, Value x, const std::string& path, const std::vector<Sublayer>& sublayers) {
  const std::string& order = g.model.norm;
  const bool before = order == "pre" || order == "sandwich";
  for (std::size_t i = 0; i < g.model.layers; ++i) {
    const std::string layer = path + ".layers." + std::to_string(i);
    for (std::size_t s = 0; s < sublayers.size(); ++s) {
      const std::string at = layer + ".norm" + std::to_string(s + 1);
      Value y = sublayers[s](before ? norm(g, x, at) : x, layer);
      if (order == "sandwich") y = norm(g, y, at + "_post");
      x = g("Add", {x, y});
      if (order == "post") x = norm(g, x, at);
    }
  }
  return g.model.final_norm ? norm(g, x, path + ".norm") : x;
}

Sublayer mlp(Builder& g) {
  return [&g](const Value& x, const std::string& layer) {
    const Value hidden = activation(g, linear(g, x, layer + ".linear1."));
    return linear(g, hidden, layer + ".linear2.");
  };
}

// (B, H, W, C) -> (B, patches, D): the linear layer on patches is a convolution.
Value patches(Builder& g, const Value& image, const std::string& path) {
  const ModelConfig& m = g.model;
  const auto patch = std::int64_t(m.patch), overlap = std::int64_t(m.patch_overlap);
  const std::int64_t side = patch + 2 * overlap, channels = std::int64_t(g.shape.channels);
  const Value rows = g("Reshape", {g.weight(path + ".weight"), Integers{-1, side, side, channels}});
  const Value kernels = g.transpose(rows, {0, 3, 1, 2}), pixels = g.transpose(image, {0, 3, 1, 2});
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

// Adds positions, and applies the norm of embeddings. Other kinds are applied in attention.
Value finished(Builder& g, Value x, const std::string& path, const std::string& kind) {
  const std::string at = path + ".position";
  if (kind == "learned_2d") {
    x = g("Add", {x, grid(g, at)});
  } else if (kind == "relative_index") {
    x = g("Add", {x, linear(g, relative_places(g, x), at + ".")});
  } else if (kind == "learned" || kind == "sinusoidal") {
    const Builder::Input table = kind == "learned"
                                     ? Builder::Input(g.weight(at + ".weight"))
                                     : sinusoidal_positions<float>(longest(g), g.model.width);
    x = g("Add", {x, g("Slice", {table, Integers{0}, extent(g, x, 1), Integers{0}})});
  }
  return g.model.embedding_norm ? norm(g, x, path + ".norm") : x;
}

}  // namespace

Value linear(Builder& g, const Value& x, const Value& weight, const Value& bias) {
  // The weight keeps its name and shape. Runtimes transpose it once, when they load the file.
  const Value turned = g.transpose(weight, {1, 0});
  const Value y = g("MatMul", {x, turned});
  return bias.empty() ? y : g("Add", {y, bias});
}

Value linear(Builder& g, const Value& x, const std::string& path) {
  const Value bias = g.has_weight(path + "bias") ? g.weight(path + "bias") : Value();
  return linear(g, x, g.weight(path + "weight"), bias);
}

Value to_root_mean_square_1(Builder& g, const Value& x, double eps) {
  const Value square = g("ReduceMean", {g("Mul", {x, x})}, {{"axes", Integers{-1}}});
  return g("Div", {x, g("Sqrt", {g("Add", {square, float(eps)})})});
}

Value where(Builder& g, const Value& mask, const Value& x, float other) {
  return mask.empty() ? x : g("Where", {mask, x, other});
}

Value activation(Builder& g, const Value& x) {
  const std::string& kind = g.model.activation;
  if (kind == "relu") return g("Relu", {x});
  if (kind == "silu") return g("Mul", {x, g("Sigmoid", {x})});
  Value f;  // gelu and gelu_tanh are x/2 (1 + f)
  if (kind == "gelu") {
    f = g("Erf", {g("Mul", {x, float(std::numbers::sqrt2 / 2)})});
  } else {
    const Value cube = g("Mul", {g("Mul", {x, x}), x});
    const Value inner = g("Add", {x, g("Mul", {cube, 0.044715f})});
    f = g("Tanh", {g("Mul", {inner, float(std::sqrt(2 * std::numbers::inv_pi))})});
  }
  return g("Mul", {g("Mul", {x, 0.5f}), g("Add", {f, 1.0f})});
}

Value encoder(Builder& g, const Value& x, const std::string& path) {
  const AttentionOptions options{
      .key_mask = g.mask, .mask = g.adjacency, .causal = g.model.mask == "causal"};
  const auto look_around = [&](const Value& y, const std::string& layer) {
    return attention(g, y, y, layer + ".self_attn", options);
  };
  return stack(g, x, path, {look_around, mlp(g)});
}

Value decoder(Builder& g, const Value& x, const Value& memory, const std::string& path) {
  const auto look_back = [&](const Value& y, const std::string& layer) {
    return attention(g, y, y, layer + ".self_attn", {.causal = true});
  };
  const auto look_at_memory = [&](const Value& y, const std::string& layer) {
    return attention(g, y, memory, layer + ".multihead_attn", {.key_mask = g.mask, .self = false});
  };
  return stack(g, x, path, {look_back, look_at_memory, mlp(g)});
}

Value embedding(Builder& g, const std::string& path) {
  Value x = input(g, path);
  const std::string class_token = path + ".class_token";
  if (g.has_weight(class_token)) x = with_class_token(g, x, class_token, extent(g, x, 0));
  return finished(g, x, path, g.model.positions);
}

Value output_embedding(Builder& g, const std::string& path) {
  const Value ids = g.input("decoder_ids", Builder::Type::i64, {"batch", "outputs"});
  const Value x = g("Gather", {g.weight(path + ".token.weight"), ids});
  return finished(g, x, path, g.model.positions == "learned_2d" ? "learned" : g.model.positions);
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
