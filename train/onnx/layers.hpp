// The layers of layers/, as ONNX operators: one function each, of the same name.
//
// A new variant of a layer is a branch in its function, and a word in the table of onnx_export.cpp;
// until then a model with it is refused by name.
#pragma once

#include <string>

#include <xgrad/data/task.hpp>
#include <xgrad/train/config.hpp>
#include <xgrad/train/formats/onnx_graph.hpp>

namespace xgrad::onnx_export {

using Value = OnnxGraph::Value;

/// What the functions share. B and N stay open: no function may depend on them.
struct Builder {
  const Config& config;
  const TaskShape& shape;
  OnnxGraph& graph;
  Value mask = {};  ///< (B, N), true for a token; empty where nothing is padded
};

/// x (..., in) -> x W^T + b, (..., out), with the weights `path` + "weight" and, if there is one,
/// "bias".
Value linear(Builder& b, const Value& x, const std::string& path);
/// LayerNorm or RmsNorm.
Value norm(Builder& b, const Value& x, const std::string& path);
/// relu, gelu, ...: [model] activation.
Value activation(Builder& b, const Value& x);
Value mlp(Builder& b, const Value& x, const std::string& path);
/// Self-attention with the builder's mask, x (B, N, D) -> (B, N, D).
Value attention(Builder& b, const Value& x, const std::string& path);
Value encoder(Builder& b, Value x, const std::string& path);

/// The most tokens that there may be, with a class token.
std::size_t longest(const Builder& b);
/// The extent of x along an axis, as a list of one.
Value extent(Builder& b, const Value& x, std::int64_t axis);

/// Declares the model's inputs; gives (B, N, D), and the mask with a true for the class token.
Value embedding(Builder& b, const std::string& path);
/// (B, N, D) -> (B, D) for sequence outputs, x itself for token outputs.
Value pooling(Builder& b, const Value& x);

}  // namespace xgrad::onnx_export
