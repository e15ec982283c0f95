// Where the time of a training step goes, op by op.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <xgrad/train/config/config.hpp>

namespace xgrad {

/// All calls of one op, of one op's derivative, or of a part of a step that is no op.
struct ProfileRow {
  std::string name;         ///< "linear", "linear backward", "loader"
  std::uint64_t calls = 0;  ///< in all steps
  double seconds = 0;       ///< without that of what runs inside
  std::uint64_t flops = 0;  ///< of matrix products, as they are computed
  /// That the op cannot avoid: forward reads its inputs and writes its result; backward reads the
  /// result's gradient and the inputs and writes the gradients that are wanted.
  std::uint64_t bytes = 0;
};

/// Where the time of some steps went.
struct Profile {
  std::size_t steps = 0;  ///< that were measured
  double seconds = 0;     ///< of all steps
  /// The part of a step that is spent in ops, loader and update, and so neither in "other" nor
  /// "between ops"; median, as a pause falls on these.
  double explained = 0;
  std::vector<ProfileRow> rows = {};  ///< the longest first
  double gemm_rate = 0;               ///< FLOP/s of a large matrix product on this machine
  double copy_rate = 0;               ///< bytes/s read and written by a large copy
  std::string trace = {};             ///< one step in Chrome's trace event format
};

/// Trains some steps of a config, three unmeasured ones before, and forgets them. Throws what a
/// Trainer throws.
Profile profile(const Config& config, std::size_t steps);

/// A table for people, ending with a line feed.
std::string to_text(const Profile& profile);

}  // namespace xgrad
