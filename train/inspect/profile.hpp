// Profile: how the time of a training step divides among ops.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <xgrad/train/config/config.hpp>

namespace xgrad {

/// Sum over all calls of an op, of an op's backward, or of a part of a step that is not an op.
struct ProfileRow {
  std::string name;         ///< "linear", "linear backward", "loader"
  std::uint64_t calls = 0;  ///< number of calls in all steps
  double seconds = 0;       ///< time excluding nested calls
  std::uint64_t flops = 0;  ///< floating-point operations of matrix products, counted as they run
  /// Bytes that the op has to move: forward reads its inputs and writes its result; backward reads
  /// the result's gradient and the inputs and writes the gradients that are needed.
  std::uint64_t bytes = 0;
};

/// The profile of some steps.
struct Profile {
  std::size_t steps = 0;  ///< number of steps measured
  double seconds = 0;     ///< time of all steps
  /// Fraction of a step's time spent in ops, loader and update, not in "other" or "between ops". It
  /// is the median over steps, because pauses of the machine count as unexplained.
  double explained = 0;
  std::vector<ProfileRow> rows = {};  ///< rows, longest first
  double gemm_rate = 0;               ///< FLOP/s of a large matrix product on this machine
  double copy_rate = 0;               ///< bytes/s read and written by a large copy
  std::string trace = {};             ///< the last step in Chrome's trace event format
};

/// Measures this many training steps of a config after three unmeasured ones, and discards the
/// trained model. Throws the errors of Trainer.
Profile profile(const Config& config, std::size_t steps);

/// Returns a table to print, ending with a line feed.
std::string to_text(const Profile& profile);

}  // namespace xgrad
