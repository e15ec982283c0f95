// What differs between two checkpoints.
#pragma once

#include <string>
#include <vector>

#include <xgrad/train/checkpoint/checkpoint.hpp>

namespace xgrad {

/// One line for each difference: the step, keys of the config, the state, tensors that only one
/// has or whose shape, type or numbers differ (how many, the largest difference and the most units
/// in the last place). Empty when the two are the same to the bit.
std::vector<std::string> differences(const Checkpoint& a, const Checkpoint& b);

}  // namespace xgrad
