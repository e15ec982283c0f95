// Tensors and arrays: the contents of a file, in any format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/tensor.hpp>

namespace xgrad {

/// Thrown for a file that is damaged or not in the expected format. The message does not name the
/// file. The caller adds the name, in an exception that says whether the file is data or weights.
struct FormatError : Error {
  using Error::Error;
};

/// A tensor of float or double.
using AnyTensor = std::variant<Tensor<float>, Tensor<double>>;
/// The shape of a tensor of float or double.
inline const Shape& shape_of(const AnyTensor& tensor) {
  return std::visit([](const auto& t) -> const Shape& { return t.shape(); }, tensor);
}
/// The bytes of the elements of a tensor.
inline std::string_view bytes_of(const AnyTensor& tensor) {
  return std::visit(
      [](const auto& t) {
        return std::string_view(reinterpret_cast<const char*>(t.data()),
                                t.size() * sizeof(t.data()[0]));
      },
      tensor);
}
/// The tensor of this shape with these bytes. Requires: as many bytes as the shape needs.
template <class T>
AnyTensor tensor_of(const Shape& shape, std::string_view bytes) {
  Tensor<T> tensor = empty<T>(shape);
  bytes.copy(reinterpret_cast<char*>(tensor.data()), bytes.size());
  return tensor;
}
/// The product of all extents and `each`; nothing if a partial product overflows.
template <class Extents>
std::optional<std::size_t> product(const Extents& extents, std::size_t each = 1) {
  bool fits = true;
  for (const std::size_t n : extents) fits = !__builtin_mul_overflow(each, n, &each) && fits;
  return fits ? std::optional(each) : std::nullopt;
}
/// A part of the state of a run that is not a tensor.
using StateValue = std::variant<std::int64_t, double, std::string>;

/// A tensor and its name.
struct NamedTensor {
  std::string name;  ///< path in the model: "encoder.layers.0.norm1.weight"
  AnyTensor tensor;  ///< values in float or double
};

/// Weights and a text, in which xgrad stores the config.
struct WeightFile {
  std::vector<NamedTensor> tensors = {};
  std::string text = {};
};

/// Returns the total number of elements.
std::size_t count(const std::vector<NamedTensor>& tensors);

/// Throws Exception (NumericError, CheckpointError or FormatError) if an element is infinite or
/// NaN. The message has `name` and the index of the first such element. Such tensors are neither
/// written nor read.
template <class Exception>
void check_finite(const std::string& name, const AnyTensor& tensor);

/// An array of numbers or texts from a file of another program.
struct Array {
  std::vector<std::size_t> extents = {};  ///< sizes of its axes
  std::vector<double> values = {};        ///< numbers, row-major; empty for texts
  std::vector<std::string> texts = {};    ///< texts, row-major; empty for numbers
  bool text = false;                      ///< whether it holds texts
  bool whole = false;                     ///< whether values are integers or booleans
  bool single = false;                    ///< whether values are floats of at most 32 bits
};

/// Converts an array to a named tensor: float if `single`, else double. Throws FormatError unless
/// the array holds floats, all finite.
NamedTensor to_tensor(const std::string& name, const Array& array);

/// Serializes an array, so that an isolated process can return it.
std::string pack(const Array& array);
/// Restores the array from pack(). Throws FormatError unless pack() could have made the bytes,
/// because a malicious file may control the process that sends them.
Array unpack(std::string_view bytes);

}  // namespace xgrad
