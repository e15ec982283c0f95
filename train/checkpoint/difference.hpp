// Differences between two checkpoints.
#pragma once

#include <string>
#include <vector>

#include <xgrad/train/checkpoint/checkpoint.hpp>

namespace xgrad {

/// Returns one line for each difference: the step, config keys, state entries, and tensors. Tensors
/// differ if only one checkpoint has them, or in shape, type or numbers (the line says how many,
/// the largest difference, and the largest difference in units in the last place). Empty if both
/// checkpoints are equal to the bit.
std::vector<std::string> differences(const Checkpoint& a, const Checkpoint& b);

}  // namespace xgrad
