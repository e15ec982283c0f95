// A step that failed, as a file that replays it: the checkpoint of the moment before, with what the
// step read.
#pragma once

#include <string>
#include <vector>

#include <xgrad/data/batch.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>

namespace xgrad {

/// `before` with the step's micro-batches in the place of the optimizer's tensors, and why it
/// failed as the state "fault".
Checkpoint failed_step(Checkpoint before, const std::vector<Batch>& batches,
                       const std::string& fault);

/// The micro-batches of a failed step. Throws CheckpointError when one lacks what is
/// read, and on an id, a target or a mask that is none.
std::vector<Batch> batches_of(const Checkpoint& failed);

/// The name of the file of the step that failed: "fault-0000001200.h5" of step 1200.
std::string failed_step_name(std::uint64_t step);

/// Reads such a file. Throws IoError, CheckpointError.
Checkpoint load_failed_step(const std::string& path);

}  // namespace xgrad
