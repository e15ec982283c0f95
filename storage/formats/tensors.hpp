// Tensors by name: what every file of weights holds, whatever its format.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include <xgrad/autograd/tensor.hpp>

namespace xgrad {

/// A tensor of either precision that a run may have.
using AnyTensor = std::variant<Tensor<float>, Tensor<double>>;
/// A value that is no tensor: an entry of a run's state.
using StateValue = std::variant<std::int64_t, double, std::string>;

/// A tensor of a file.
struct NamedTensor {
  std::string name;  ///< its path in the model: "encoder.layers.0.norm1.weight"
  AnyTensor tensor;  ///< float or double
};

/// Weights with a text beside them, which xgrad uses for the config.
struct WeightFile {
  std::vector<NamedTensor> tensors = {};
  std::string text = {};
};

/// The number of elements of all tensors together.
std::size_t count(const std::vector<NamedTensor>& tensors);

/// Throws Exception, NumericError or CheckpointError, that names the first entry which is infinite
/// or NaN: such tensors are neither written nor read.
template <class Exception>
void check_finite(const std::string& name, const AnyTensor& tensor);

}  // namespace xgrad
