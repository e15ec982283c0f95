#include <xgrad/train/export/onnx/layers.hpp>

#include <cmath>
#include <functional>
#include <map>
#include <numbers>

namespace xgrad::onnx_export {

namespace {

// x/2 (1 + f)
Value half_of_one_plus(Builder& g, const Value& x, const Value& f) {
  return g("Mul", {g("Mul", {x, 0.5f}), g("Add", {f, 1.0f})});
}

Value gelu(Builder& g, const Value& x) {
  const Value scaled = g("Mul", {x, float(std::numbers::sqrt2 / 2)});
  return half_of_one_plus(g, x, g("Erf", {scaled}));
}

Value gelu_tanh(Builder& g, const Value& x) {
  const Value cube = g("Mul", {g("Mul", {x, x}), x});
  const Value inner = g("Add", {x, g("Mul", {cube, 0.044715f})});
  const Value scaled = g("Mul", {inner, float(std::sqrt(2 * std::numbers::inv_pi))});
  return half_of_one_plus(g, x, g("Tanh", {scaled}));
}

using Function = Value (*)(Builder&, const Value&);
const std::map<std::string, Function> kActivations = {
    {"gelu", gelu},
    {"gelu_tanh", gelu_tanh},
    {"relu", [](Builder& g, const Value& x) { return g("Relu", {x}); }},
    {"silu", [](Builder& g, const Value& x) {
       return g("Mul", {x, g("Sigmoid", {x})});
     }}};

// A residual connection; see Residual in layers/models/encoder.hpp for the four orders of norms.
Value residual(Builder& g, const Value& x, const std::string& path, int number,
               const std::function<Value(const Value&)>& sublayer) {
  const std::string& order = g.model.norm;
  const std::string at = path + ".norm" + std::to_string(number);
  const bool before = order == "pre" || order == "sandwich";
  Value y = sublayer(before ? norm(g, x, at) : x);
  if (order == "sandwich") y = norm(g, y, at + "_post");
  y = g("Add", {x, y});
  return order == "post" ? norm(g, y, at) : y;
}

// Self-attention in an encoder layer.
Value look_around(Builder& g, const Value& x, const std::string& layer) {
  const bool causal = g.model.mask == "causal";
  return attention(g, x, x, layer + ".self_attn",
                   {.key_mask = g.mask, .mask = g.adjacency, .causal = causal});
}

std::string layer_path(const std::string& path, std::size_t i) {
  return path + ".layers." + std::to_string(i);
}

Value final_norm(Builder& g, const Value& x, const std::string& path) {
  return g.model.final_norm ? norm(g, x, path + ".norm") : x;
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

Value activation(Builder& g, const Value& x) {
  return kActivations.at(g.model.activation)(g, x);
}

Value mlp(Builder& g, const Value& x, const std::string& path) {
  return linear(g, activation(g, linear(g, x, path + ".linear1.")), path + ".linear2.");
}

Value encoder(Builder& g, Value x, const std::string& path) {
  for (std::size_t i = 0; i < g.model.layers; ++i) {
    const std::string at = layer_path(path, i);
    x = residual(g, x, at, 1, [&](const Value& y) { return look_around(g, y, at); });
    x = residual(g, x, at, 2, [&](const Value& y) { return mlp(g, y, at); });
  }
  return final_norm(g, x, path);
}

Value decoder(Builder& g, Value x, const Value& memory, const std::string& path) {
  for (std::size_t i = 0; i < g.model.layers; ++i) {
    const std::string at = layer_path(path, i);
    x = residual(g, x, at, 1, [&](const Value& y) {
      return attention(g, y, y, at + ".self_attn", {.causal = true});
    });
    x = residual(g, x, at, 2, [&](const Value& y) {
      return attention(g, y, memory, at + ".multihead_attn", {.key_mask = g.mask, .self = false});
    });
    x = residual(g, x, at, 3, [&](const Value& y) { return mlp(g, y, at); });
  }
  return final_norm(g, x, path);
}

}  // namespace xgrad::onnx_export
