// OnnxGraph: an ONNX model under construction, by the format's own schema and checker (libonnx).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include <xgrad/train/checkpoint/checkpoint.hpp>

namespace xgrad {

/// Operators of opset 17 in the order of their calls. A value is named by text: that of a weight is
/// the weight's own.
class OnnxGraph {
 public:
  using Value = std::string;
  /// One word an axis: a number, or a name ("batch") for any extent.
  using Axes = std::vector<std::string>;
  enum class Type { f32, i64, boolean };
  struct Attribute {
    const char* name;
    std::variant<std::int64_t, float, std::vector<std::int64_t>> value;
  };

  /// Keeps the weights, as float, for weight() to take. Throws NumericError when one is not finite
  /// as float.
  explicit OnnxGraph(const std::vector<NamedTensor>& weights);
  ~OnnxGraph();

  Value input(const std::string& name, Type type, const Axes& axes);
  /// Gives a value a public name.
  void output(const Value& value, const std::string& name, const Axes& axes);

  bool has_weight(const std::string& name) const;
  const Shape& shape_of(const std::string& name) const;
  /// Throws CheckpointError when there is none.
  Value weight(const std::string& name);
  /// Weights that nothing asked for yet.
  std::vector<std::string> unused_weights() const;

  /// Constants: scalars, a list of integers, tensors.
  Value scalar(float x);
  Value integer(std::int64_t x);
  Value integers(const std::vector<std::int64_t>& list);
  Value tensor(const Tensor<float>& x);
  Value mask(const Mask& x);

  /// The one result of an operator.
  Value operator()(const char* op, const std::vector<Value>& inputs,
                   const std::vector<Attribute>& attributes = {});
  /// Each of several.
  std::vector<Value> several(std::size_t count, const char* op, const std::vector<Value>& inputs,
                             const std::vector<Attribute>& attributes);
  /// The parts of x with these extents along an axis.
  std::vector<Value> split(const Value& x, std::int64_t axis,
                           const std::vector<std::int64_t>& extents);

  /// Text that travels with the model.
  void metadata(const std::string& key, const std::string& text);

  /// The file, with `name` as the graph's. Throws CheckpointError when ONNX's own checker or shape
  /// inference finds something wrong, or when it is above the format's 2 GB.
  std::string finish(const std::string& name) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace xgrad
