// The layers of layers/ as ONNX operators: one function of the same name for each.
//
// A new variant of a layer needs a branch in its function and a word in the table in export.cpp.
// Until then models with it are refused by name.
#pragma once

#include <limits>
#include <string>

#include <xgrad/data/task.hpp>
#include <xgrad/train/config/config.hpp>
#include <xgrad/train/export/onnx/graph.hpp>

namespace xgrad::onnx_export {

using Value = OnnxGraph::Value;
using Integers = OnnxGraph::Integers;

/// A graph, and state that the functions share. The batch size B and the length N are unknown:
/// functions must not depend on them.
struct Builder : OnnxGraph {
  Builder(const ModelConfig& of_model, const TaskShape& of_task,
          const std::vector<NamedTensor>& weights)
      : OnnxGraph(weights), model(of_model), shape(of_task) {}

  const ModelConfig& model;
  const TaskShape& shape;
  Value mask = {};       ///< (B, N), true for a token; empty if nothing is padded
  Value adjacency = {};  ///< (B, N, N), true where a token may attend to another; empty: everywhere
};

/// Options of attention(), as in autograd/ops.hpp. Empty masks hide nothing.
struct AttentionOptions {
  Value key_mask = {};  ///< (B, M)
  Value mask = {};      ///< (B, N, M)
  bool causal = false;
  bool self = true;  ///< queries and keys are positions of the same sequence
};

/// x (..., in) -> x W^T + b (..., out), with the weights `path` + "weight" and, if it exists,
/// "bias".
Value linear(Builder& g, const Value& x, const std::string& path);
/// The same with these weights; an empty `bias` means none.
Value linear(Builder& g, const Value& x, const Value& weight, const Value& bias);
/// x / sqrt(mean x^2 + eps) over the last axis.
Value to_root_mean_square_1(Builder& g, const Value& x, double eps);
/// x where the mask is true, and `other` elsewhere; x if the mask is empty.
Value where(Builder& g, const Value& mask, const Value& x, float other);
/// Instead of minus infinity: keeps fully masked rows free of NaN.
inline constexpr float kLowest = std::numeric_limits<float>::lowest();
/// Layer norm or RMS norm.
Value norm(Builder& g, const Value& x, const std::string& path);
/// relu, gelu, ...: [model] activation.
Value activation(Builder& g, const Value& x);
Value mlp(Builder& g, const Value& x, const std::string& path);
/// query (B, N, D), memory (B, M, D) -> (B, N, D). In self-attention the memory is the query.
Value attention(Builder& g, const Value& query, const Value& memory, const std::string& path,
                const AttentionOptions& options);
Value encoder(Builder& g, Value x, const std::string& path);
/// Outputs so far x (B, M, D), memory (B, N, D) -> (B, M, D).
Value decoder(Builder& g, Value x, const Value& memory, const std::string& path);

/// The maximum number of tokens in inputs or outputs, class token included.
std::size_t longest(const Builder& g);
/// The extent of x along an axis, as a list with one element.
Value extent(Builder& g, const Value& x, std::int64_t axis);

/// Declares the model's inputs and returns their embedding (B, N, D). Extends the masks if there is
/// a class token.
Value embedding(Builder& g, const std::string& path);
/// Declares the outputs so far as another input and returns their embedding (B, M, D).
Value output_embedding(Builder& g, const std::string& path);

}  // namespace xgrad::onnx_export
