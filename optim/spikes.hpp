// SpikeGuard: gradient norms far above those before.
#pragma once

#include <cstdint>

namespace xgrad {

/// A norm is a spike when it is more than `factor` times the mean of the norms before it, m <- 0.98
/// m + 0.02 norm from the first one on, once there were 20. With factor 0 nothing is.
class SpikeGuard {
 public:
  /// All that the next answer depends on.
  struct State {
    double mean = 0;          ///< m
    std::uint64_t count = 0;  ///< norms that it has seen
  };

  /// With a factor of 0 it watches nothing.
  explicit SpikeGuard(double factor) : factor_(factor) {}

  /// Whether a norm is one.
  bool is_spike(double norm) const;
  /// A norm that was no spike.
  void observe(double norm);

  /// Whether anything can be one.
  bool watches() const { return factor_ > 0; }
  /// Where it stands.
  const State& state() const { return state_; }
  /// Goes on from there.
  void restore(const State& state) { state_ = state; }

 private:
  double factor_;
  State state_;
};

}  // namespace xgrad
