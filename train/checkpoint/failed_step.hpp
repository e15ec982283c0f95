// A failed step as a file that `xgrad replay` can run again: the checkpoint before the step, and
// the batches that the step read.
#pragma once

#include <string>
#include <vector>

#include <xgrad/data/batch.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>

namespace xgrad {

/// Returns `before` with the step's micro-batches, without the optimizer's tensors, and with the
/// reason for the failure as the state entry "fault".
Checkpoint failed_step(Checkpoint before, const std::vector<Batch>& batches,
                       const std::string& fault);

/// Returns the micro-batches of a failed step. Throws CheckpointError if a micro-batch lacks its
/// input, or contains an invalid id, target or mask.
std::vector<Batch> batches_of(const Checkpoint& failed);

/// The file name of a failed step: "fault-0000001200.h5" for step 1200.
std::string failed_step_name(std::uint64_t step);

}  // namespace xgrad
