// Builder: a graph in ONNX format. The functions below build the layers of layers/ from ONNX
// operators; each function has the name of its layer.
//
// A new variant of a layer needs a branch in the layer's function, and the variant's name in the
// table in export.cpp. Without these, to_onnx() refuses models that use the variant.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include <xgrad/data/task.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/config/config.hpp>

namespace onnx {
class ModelProto;
}

namespace xgrad::onnx_export {

/// A value of the graph, identified by its name. The value of a weight has the name of the weight.
using Value = std::string;
using Integers = std::vector<std::int64_t>;

/// Builds a graph of opset 17 operators with libonnx, in the order in which they are added. Also
/// holds the state that the functions below share. The graph must fit any batch size and length.
class Builder {
 public:
  /// One entry per axis: a number, or a name ("batch") for any extent.
  using Axes = std::vector<std::string>;
  /// Types of elements, with ONNX's numbers.
  enum class Type { f32 = 1, i64 = 7, boolean = 9 };
  struct Attribute {
    const char* name;
    std::variant<std::int64_t, float, Integers> value;
  };
  /// An input of an operator: a value or a constant (a scalar, a list or a tensor).
  struct Input : std::variant<Value, float, std::int64_t, Integers, Tensor<float>, Mask> {
    using variant::variant;
  };

  /// Stores the weights as float; weight() adds them to the graph. Throws NumericError if a weight
  /// is NaN or infinite after conversion to float.
  Builder(const ModelConfig& of_model, const TaskShape& of_task,
          const std::vector<NamedTensor>& weights);
  ~Builder();

  /// Declares an input of the model and returns its value.
  Value input(const std::string& name, Type type, const Axes& axes);
  /// Declares a value as the output `name` of the model.
  void output(const Value& value, const std::string& name, const Axes& axes);

  bool has_weight(const std::string& name) const { return weights_.contains(name); }
  /// The shape of a weight. Throws CheckpointError if there is none of this name.
  const Shape& shape_of(const std::string& name) const;
  /// Adds a weight to the graph. Throws CheckpointError if there is none of this name.
  Value weight(const std::string& name);
  /// Names of the weights that weight() has not added.
  std::vector<std::string> unused_weights() const;

  /// Adds an operator with one result and returns the result.
  Value operator()(const char* op, const std::vector<Input>& inputs,
                   const std::vector<Attribute>& attributes = {}) {
    return several(1, op, inputs, attributes).front();
  }
  /// Adds an operator with several results and returns them all.
  std::vector<Value> several(std::size_t count, const char* op, const std::vector<Input>& inputs,
                             const std::vector<Attribute>& attributes);
  /// Splits x along an axis.
  std::vector<Value> split(const Value& x, std::int64_t axis, const Integers& extents) {
    return several(extents.size(), "Split", {x, extents}, {{"axis", axis}});
  }
  /// Permutes the axes of x.
  Value transpose(const Value& x, const Integers& axes) {
    return (*this)("Transpose", {x}, {{"perm", axes}});
  }
  /// Converts integers or booleans to float.
  Value as_float(const Value& x) { return (*this)("Cast", {x}, {{"to", std::int64_t(Type::f32)}}); }

  /// Adds a metadata entry to the model.
  void metadata(const std::string& key, const std::string& text);

  /// Returns the file; `name` becomes the name of the graph. Throws CheckpointError if ONNX's
  /// checker or shape inference finds an error, or if the file exceeds the format's 2 GB.
  std::string finish(const std::string& name) const;

  const ModelConfig& model;
  const TaskShape& shape;
  Value mask = {};       ///< (B, N), true for a token; empty if nothing is padded
  Value adjacency = {};  ///< (B, N, N), true where a token may attend to another; empty: everywhere

 private:
  struct Weight {
    Tensor<float> tensor;
    bool used = false;
  };
  // Makes a new name for a value from the name of its operator.
  Value fresh(const std::string& op);

  std::unique_ptr<onnx::ModelProto> proto_;
  std::map<std::string, Weight> weights_;
  std::map<std::string, int> numbers_;  // counters of fresh names
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
/// x W^T + b with these weights; an empty `bias` means none.
Value linear(Builder& g, const Value& x, const Value& weight, const Value& bias);
/// x / sqrt(mean x^2 + eps) over the last axis.
Value to_root_mean_square_1(Builder& g, const Value& x, double eps);
/// x where the mask is true, and `other` elsewhere; x if the mask is empty.
Value where(Builder& g, const Value& mask, const Value& x, float other);
/// Score of masked keys. Minus infinity would give NaN in fully masked rows.
inline constexpr float kLowest = std::numeric_limits<float>::lowest();
Value activation(Builder& g, const Value& x);  ///< relu, gelu, ...: [model] activation
/// query (B, N, D), memory (B, M, D) -> (B, N, D). In self-attention the memory is the query.
Value attention(Builder& g, const Value& query, const Value& memory, const std::string& path,
                const AttentionOptions& options);
/// Encoder: x (B, N, D) -> (B, N, D).
Value encoder(Builder& g, const Value& x, const std::string& path);
/// Decoder: x (B, M, D), the outputs so far, and memory (B, N, D) -> (B, M, D).
Value decoder(Builder& g, const Value& x, const Value& memory, const std::string& path);

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
