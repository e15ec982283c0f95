#include <xgrad/train/export/onnx/layers.hpp>

#include <cmath>
#include <functional>
#include <map>
#include <numbers>

namespace xgrad::onnx_export {

namespace {

// x/2 (1 + f)
Value half_of_one_plus(OnnxGraph& g, const Value& x, const Value& f) {
  return g("Mul", {g("Mul", {x, g.scalar(0.5f)}), g("Add", {f, g.scalar(1)})});
}

Value gelu(OnnxGraph& g, const Value& x) {
  const Value scaled = g("Mul", {x, g.scalar(float(std::numbers::sqrt2 / 2))});
  return half_of_one_plus(g, x, g("Erf", {scaled}));
}

Value gelu_tanh(OnnxGraph& g, const Value& x) {
  const Value cube = g("Mul", {g("Mul", {x, x}), x});
  const Value inner = g("Add", {x, g("Mul", {cube, g.scalar(0.044715f)})});
  const Value scaled = g("Mul", {inner, g.scalar(float(std::sqrt(2 * std::numbers::inv_pi)))});
  return half_of_one_plus(g, x, g("Tanh", {scaled}));
}

using Function = std::function<Value(OnnxGraph&, const Value&)>;
const std::map<std::string, Function> kActivations = {
    {"gelu", gelu},
    {"gelu_tanh", gelu_tanh},
    {"relu", [](OnnxGraph& g, const Value& x) { return g("Relu", {x}); }},
    {"silu", [](OnnxGraph& g, const Value& x) {
       return g("Mul", {x, g("Sigmoid", {x})});
     }}};

// A residual connection; see Residual in layers/models/residual.hpp for the four orders of norms.
Value residual(Builder& b, const Value& x, const std::string& path, int number,
               const std::function<Value(const Value&)>& sublayer) {
  const std::string& order = b.config.model.norm;
  const std::string at = path + ".norm" + std::to_string(number);
  const bool before = order == "pre" || order == "sandwich";
  Value y = sublayer(before ? norm(b, x, at) : x);
  if (order == "sandwich") y = norm(b, y, at + "_post");
  y = b.graph("Add", {x, y});
  return order == "post" ? norm(b, y, at) : y;
}

// Self-attention in an encoder layer.
Value look_around(Builder& b, const Value& x, const std::string& layer) {
  const bool causal = b.config.model.mask == "causal";
  return attention(b, x, x, layer + ".self_attn",
                   {.key_mask = b.mask, .mask = b.adjacency, .causal = causal});
}

std::string layer_path(const std::string& path, std::size_t i) {
  return path + ".layers." + std::to_string(i);
}

Value final_norm(Builder& b, const Value& x, const std::string& path) {
  return b.config.model.final_norm ? norm(b, x, path + ".norm") : x;
}

}  // namespace

Value linear(Builder& b, const Value& x, const Value& weight, const Value& bias) {
  OnnxGraph& g = b.graph;
  // The weight keeps its name and shape. Runtimes transpose it once, when they load the file.
  const Value turned = g("Transpose", {weight}, {{"perm", std::vector<std::int64_t>{1, 0}}});
  const Value y = g("MatMul", {x, turned});
  return bias.empty() ? y : g("Add", {y, bias});
}

Value linear(Builder& b, const Value& x, const std::string& path) {
  OnnxGraph& g = b.graph;
  const Value bias = g.has_weight(path + "bias") ? g.weight(path + "bias") : Value();
  return linear(b, x, g.weight(path + "weight"), bias);
}

Value to_root_mean_square_1(Builder& b, const Value& x, double eps) {
  OnnxGraph& g = b.graph;
  const Value square =
      g("ReduceMean", {g("Mul", {x, x})}, {{"axes", std::vector<std::int64_t>{-1}}});
  return g("Div", {x, g("Sqrt", {g("Add", {square, g.scalar(float(eps))})})});
}

// Batch norm with the statistics of the batch at run time, as in xgrad; zeros for padding.
Value batch_norm(Builder& b, const Value& x, const std::string& path) {
  OnnxGraph& g = b.graph;
  const OnnxGraph::Attribute places = {"axes", std::vector<std::int64_t>{0, 1}};
  Value keep, part;
  if (b.mask.empty()) {
    keep = part = g.scalar(1);
  } else {
    keep = g("Cast", {g("Unsqueeze", {b.mask, g.integers({2})})}, {{"to", std::int64_t{1}}});
    part = g("Max", {g("ReduceMean", {keep}, {places}), g.scalar(1e-30f)});
  }
  const auto mean = [&](const Value& y) {
    return g("Div", {g("ReduceMean", {y}, {places}), part});
  };
  const Value centred = g("Mul", {g("Sub", {x, mean(g("Mul", {x, keep}))}), keep});
  const Value variance = mean(g("Mul", {centred, centred}));
  const Value deviation =
      g("Sqrt", {g("Add", {variance, g.scalar(float(b.config.model.norm_eps))})});
  const Value y = g("Mul", {g("Div", {centred, deviation}), g.weight(path + ".weight")});
  return g("Mul", {g("Add", {y, g.weight(path + ".bias")}), keep});
}

Value norm(Builder& b, const Value& x, const std::string& path) {
  OnnxGraph& g = b.graph;
  if (b.config.model.normalization == "batch") return batch_norm(b, x, path);
  if (b.config.model.normalization == "rms") {
    const Value y = to_root_mean_square_1(b, x, b.config.model.norm_eps);
    return g("Mul", {y, g.weight(path + ".weight")});
  }
  return g("LayerNormalization", {x, g.weight(path + ".weight"), g.weight(path + ".bias")},
           {{"axis", std::int64_t{-1}}, {"epsilon", float(b.config.model.norm_eps)}});
}

Value activation(Builder& b, const Value& x) {
  return kActivations.at(b.config.model.activation)(b.graph, x);
}

Value mlp(Builder& b, const Value& x, const std::string& path) {
  return linear(b, activation(b, linear(b, x, path + ".linear1.")), path + ".linear2.");
}

Value encoder(Builder& b, Value x, const std::string& path) {
  for (std::size_t i = 0; i < b.config.model.layers; ++i) {
    const std::string at = layer_path(path, i);
    x = residual(b, x, at, 1, [&](const Value& y) { return look_around(b, y, at); });
    x = residual(b, x, at, 2, [&](const Value& y) { return mlp(b, y, at); });
  }
  return final_norm(b, x, path);
}

Value decoder(Builder& b, Value x, const Value& memory, const std::string& path) {
  for (std::size_t i = 0; i < b.config.model.layers; ++i) {
    const std::string at = layer_path(path, i);
    x = residual(b, x, at, 1, [&](const Value& y) {
      return attention(b, y, y, at + ".self_attn", {.causal = true});
    });
    x = residual(b, x, at, 2, [&](const Value& y) {
      return attention(b, y, memory, at + ".multihead_attn", {.key_mask = b.mask, .self = false});
    });
    x = residual(b, x, at, 3, [&](const Value& y) { return mlp(b, y, at); });
  }
  return final_norm(b, x, path);
}

}  // namespace xgrad::onnx_export
