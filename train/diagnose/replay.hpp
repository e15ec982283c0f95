// Replay: runs a failed step again, op by op, in its own and in higher precision.
#pragma once

#include <vector>

#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/diagnose/trace.hpp>

namespace xgrad {

/// Comparison of one tensor of the step between the run's precision and the next higher: double for
/// float, long double for double.
struct ReplayRow {
  OpPlace place;                 ///< place where it was computed
  Shape shape;                   ///< shape of the tensor
  bool finite = true;            ///< no NaN or infinity in the tensor
  bool reference_finite = true;  ///< no NaN or infinity in the reference
  double largest = 0;            ///< largest magnitude in the reference
  double difference = 0;         ///< largest difference, as a fraction of `largest`
  /// Flat index of the first NaN or infinity, else of the largest difference.
  std::size_t worst = 0;

  /// Whether a value is NaN or infinite, or the difference exceeds kBand.
  bool leaves_band() const { return !finite || !reference_finite || !(difference <= kBand); }
  /// Far above the accumulated rounding errors of a step in float.
  static constexpr double kBand = 1e-3;
};

/// Runs forward and backward of a failed step in both precisions. Throws CheckpointError if the
/// file does not fit its own config.
std::vector<ReplayRow> replay(const Checkpoint& failed);

}  // namespace xgrad
