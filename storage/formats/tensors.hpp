// Named tensors: the contents of a file of weights, in any format.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <xgrad/autograd/tensor.hpp>

namespace xgrad {

/// A tensor in either precision.
using AnyTensor = std::variant<Tensor<float>, Tensor<double>>;
/// The shape of a tensor in either precision.
inline const Shape& shape_of(const AnyTensor& tensor) {
  return std::visit([](const auto& t) -> const Shape& { return t.shape(); }, tensor);
}
/// The bytes of its elements.
inline std::string_view bytes_of(const AnyTensor& tensor) {
  return std::visit(
      [](const auto& t) {
        return std::string_view(reinterpret_cast<const char*>(t.data()),
                                t.size() * sizeof(t.data()[0]));
      },
      tensor);
}
/// A value in the state of a run that is not a tensor.
using StateValue = std::variant<std::int64_t, double, std::string>;

/// A tensor and its name.
struct NamedTensor {
  std::string name;  ///< path in the model: "encoder.layers.0.norm1.weight"
  AnyTensor tensor;  ///< values in float or double
};

/// Weights, with a text that xgrad uses for the config.
struct WeightFile {
  std::vector<NamedTensor> tensors = {};
  std::string text = {};
};

/// Returns the total number of elements.
std::size_t count(const std::vector<NamedTensor>& tensors);

/// Throws Exception (NumericError, CheckpointError or FormatError) that names the first entry that
/// is infinite or NaN. Such tensors are neither written nor read.
template <class Exception>
void check_finite(const std::string& name, const AnyTensor& tensor);

}  // namespace xgrad
