// The hash of a training state.
#pragma once

#include <string>

#include <xgrad/train/checkpoint/checkpoint.hpp>

namespace xgrad {

/// The SHA-256, as 64 hexadecimal digits, of the step, the parameters and the optimizer's tensors:
/// of "step 200\n", then for every tensor in the model's order of "parameter encoder.norm.weight
/// float32 64\n" or "optimizer exp_avg.head.weight float32 4x64\n" and its numbers, little-endian.
/// It does not depend on the config's text, the version or the HDF5 library.
std::string state_hash(const Checkpoint& checkpoint);

}  // namespace xgrad
