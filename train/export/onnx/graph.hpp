// OnnxGraph: builds an ONNX model with the format's own schema and checker (libonnx).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include <xgrad/train/checkpoint/checkpoint.hpp>

namespace xgrad {

/// A graph of opset 17 operators in the order in which they are added. A value is identified by its
/// name; the name of a weight's value is that of the weight.
class OnnxGraph {
 public:
  using Value = std::string;
  using Integers = std::vector<std::int64_t>;
  /// One entry per axis: a number, or a name ("batch") for any extent.
  using Axes = std::vector<std::string>;
  /// Types of elements, as ONNX numbers them.
  enum class Type { f32 = 1, i64 = 7, boolean = 9 };
  struct Attribute {
    const char* name;
    std::variant<std::int64_t, float, Integers> value;
  };
  /// An input of an operator: a value, or a constant: a scalar, a list, a tensor.
  struct Input : std::variant<Value, float, std::int64_t, Integers, Tensor<float>, Mask> {
    using variant::variant;
  };

  /// Stores the weights as float; weight() adds them to the graph. Throws NumericError if a weight
  /// is NaN or infinite as float.
  explicit OnnxGraph(const std::vector<NamedTensor>& weights);
  ~OnnxGraph();

  Value input(const std::string& name, Type type, const Axes& axes);
  /// Declares a value as an output of the model with this name.
  void output(const Value& value, const std::string& name, const Axes& axes);

  bool has_weight(const std::string& name) const;
  const Shape& shape_of(const std::string& name) const;
  /// Adds a weight to the graph. Throws CheckpointError if there is none of this name.
  Value weight(const std::string& name);
  /// The weights that weight() has not been called for.
  std::vector<std::string> unused_weights() const;

  /// Adds an operator with one result and returns that.
  Value operator()(const char* op, const std::vector<Input>& inputs,
                   const std::vector<Attribute>& attributes = {});
  /// Adds an operator with several results and returns them all.
  std::vector<Value> several(std::size_t count, const char* op, const std::vector<Input>& inputs,
                             const std::vector<Attribute>& attributes);
  /// Splits x along an axis into parts with these extents.
  std::vector<Value> split(const Value& x, std::int64_t axis, const Integers& extents);
  /// Permutes the axes of x.
  Value transpose(const Value& x, const Integers& axes);
  /// Converts integers or booleans to float.
  Value as_float(const Value& x);

  /// Adds a metadata entry to the model.
  void metadata(const std::string& key, const std::string& text);

  /// Returns the file; `name` becomes the name of the graph. Throws CheckpointError if ONNX's
  /// checker or shape inference finds an error, or if the file exceeds the format's 2 GB.
  std::string finish(const std::string& name) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace xgrad
