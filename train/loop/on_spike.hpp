// [train] on_spike: what to do after a failed step.
#pragma once

#include <cstdint>
#include <string>

namespace xgrad {

/// Action after a failed step.
enum class Remedy {
  end,        ///< "stop": end the run
  pass_over,  ///< "skip": continue after the step
  go_back     ///< "rollback": continue from the last save with the next batches
};

/// The remedy with this name in a config.
Remedy remedy_of(const std::string& on_spike);

/// Decides what to do after another failed step, and counts it in `in_a_row`: failed steps since
/// the last good one or, with rollback, since the last save. More than 10 end the run. `lasting`
/// says that weights or optimizer contain NaN or infinity: skipping cannot repair that, only
/// rollback can.
Remedy judge(Remedy wanted, bool lasting, std::uint64_t& in_a_row);

}  // namespace xgrad
