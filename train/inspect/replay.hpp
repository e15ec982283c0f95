// Replay: a failed step again, op by op, beside the same in more precision.
#pragma once

#include <vector>

#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/loop/trace.hpp>

namespace xgrad {

/// One tensor of the step, in the run's precision and in the next: double beside float, long double
/// beside double.
struct ReplayRow {
  OpPlace place;                 ///< where it comes from
  Shape shape;                   ///< (...) of the tensor
  bool finite = true;            ///< whether all of it is
  bool reference_finite = true;  ///< whether all of the reference's is
  double largest = 0;            ///< magnitude in the reference
  double difference = 0;         ///< largest, as a part of `largest`
  std::size_t worst = 0;  ///< flat index: of the first that is not finite, else of the difference

  /// Not finite, or further than kBand from the reference.
  bool leaves_band() const { return !finite || !reference_finite || !(difference <= kBand); }
  /// Far above what rounding adds up to in a step of float.
  static constexpr double kBand = 1e-3;
};

/// Runs forward and backward of a failed step in both precisions. Throws CheckpointError when the
/// file does not fit its own config.
std::vector<ReplayRow> replay(const Checkpoint& failed);

}  // namespace xgrad
