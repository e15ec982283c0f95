// Checkpoint: an ordered dictionary of tensors and the run's state. Every format is two functions
// on it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <xgrad/autograd/tensor.hpp>

namespace xgrad {

using AnyTensor = std::variant<Tensor<float>, Tensor<double>>;
using StateValue = std::variant<std::int64_t, double, std::string>;

struct NamedTensor {
  std::string name;
  AnyTensor tensor;
};

struct Checkpoint {
  std::uint64_t step = 0;
  std::vector<NamedTensor> parameters;  ///< "encoder.layers.0.norm1.weight", in the model's order
  std::vector<NamedTensor> optimizer;   ///< "exp_avg.encoder.layers.0.norm1.weight", ...
  std::map<std::string, StateValue> state;  ///< loader position, best metric, ...
  std::string config;                       ///< resolved TOML, without execution keys
};

/// The sealed HDF5 image: identical checkpoints give identical bytes. docs/checkpoint-format.md
/// describes it.
std::string to_hdf5(const Checkpoint& checkpoint);
/// Throws CheckpointError, with `origin` in the message, unless seal, structure and values are what
/// to_hdf5 writes.
Checkpoint from_hdf5(std::string_view bytes, const std::string& origin);

/// Reads and checks a file. Throws IoError or CheckpointError.
Checkpoint load_checkpoint(const std::string& path);

/// "step-0000001200.h5"
std::string checkpoint_name(std::uint64_t step);

}  // namespace xgrad
