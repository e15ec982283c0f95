// The layers of layers/, as ONNX operators: one function each, of the same name.
//
// A new variant of a layer is a branch in its function, and a word in the table of onnx_export.cpp;
// until then a model with it is refused by name.
#pragma once

#include <string>

#include <xgrad/data/task.hpp>
#include <xgrad/train/config/config.hpp>
#include <xgrad/train/export/onnx/graph.hpp>

namespace xgrad::onnx_export {

using Value = OnnxGraph::Value;

/// What the functions share. B and N stay open: no function may depend on them.
struct Builder {
  const Config& config;
  const TaskShape& shape;
  OnnxGraph& graph;
  Value mask = {};       ///< (B, N), true for a token; empty where nothing is padded
  Value adjacency = {};  ///< (B, N, N), true where a token may see another; empty: all
};

/// What the queries of a batch may attend to. Empty values hide nothing.
struct Attend {
  Value key_mask = {};  ///< (B, M)
  Value mask = {};      ///< (B, N, M)
  bool causal = false;
  bool self = true;  ///< queries are of the keys' own sequence, so that their places count
};

/// x (..., in) -> x W^T + b, (..., out), with the weights `path` + "weight" and, if there is one,
/// "bias".
Value linear(Builder& b, const Value& x, const std::string& path);
/// With these weights instead; no bias where it is empty.
Value linear(Builder& b, const Value& x, const Value& weight, const Value& bias);
/// x / sqrt(mean x^2 + eps) over the last axis.
Value to_root_mean_square_1(Builder& b, const Value& x, double eps);
/// LayerNorm or RmsNorm.
Value norm(Builder& b, const Value& x, const std::string& path);
/// relu, gelu, ...: [model] activation.
Value activation(Builder& b, const Value& x);
Value mlp(Builder& b, const Value& x, const std::string& path);
/// query (B, N, D), memory (B, M, D) -> (B, N, D); the memory is the query in self-attention.
Value attention(Builder& b, const Value& query, const Value& memory, const std::string& path,
                const Attend& attend);
/// The weights of the values, (B, H, N, M), of q (B, N, H, d) and k (B, M, H, d).
Value attention_weights(Builder& b, const Value& q, const Value& k, const std::string& path,
                        const Attend& attend);
Value encoder(Builder& b, Value x, const std::string& path);
/// x (B, M, D), what was written so far, memory (B, N, D) -> (B, M, D).
Value decoder(Builder& b, Value x, const Value& memory, const std::string& path);

/// The most tokens that there may be, with a class token, read or written.
std::size_t longest(const Builder& b);
/// The extent of x along an axis, as a list of one.
Value extent(Builder& b, const Value& x, std::int64_t axis);

/// Declares the model's inputs; gives (B, N, D), and the masks with a true for the class token.
Value embedding(Builder& b, const std::string& path);
/// Declares what was written so far as one more input; gives (B, M, D).
Value output_embedding(Builder& b, const std::string& path);
/// (B, N, D) -> (B, D) for sequence outputs, x itself for token outputs.
Value pooling(Builder& b, const Value& x);

/// The models of [model] kind, from their inputs to the logits; `mlp` is a window_mlp of window 1.
Value encoder_model(Builder& b);
Value window_mlp(Builder& b);
Value encoder_decoder_model(Builder& b);

}  // namespace xgrad::onnx_export
