// SpikeGuard: detects gradient norms far above earlier ones.
#pragma once

#include <cstdint>

namespace xgrad {

/// A norm is a spike when it exceeds `factor` times the running mean m of the norms before it, once
/// there are 20. m is the first norm, then m <- 0.98 m + 0.02 norm.
class SpikeGuard {
 public:
  /// The whole state.
  struct State {
    double mean = 0;          ///< m, the running mean
    std::uint64_t count = 0;  ///< number of norms observed
  };

  /// A factor of 0 disables the guard.
  explicit SpikeGuard(double factor) : factor_(factor) {}

  /// Whether a norm is a spike.
  bool is_spike(double norm) const {
    constexpr std::uint64_t kFewest = 20;
    return watches() && state_.count >= kFewest && norm > factor_ * state_.mean;
  }
  /// Adds a norm that was not a spike to the mean.
  void observe(double norm) {
    constexpr double kDecay = 0.98;
    state_.mean = state_.count == 0 ? norm : kDecay * state_.mean + (1 - kDecay) * norm;
    ++state_.count;
  }

  /// Whether the guard is enabled.
  bool watches() const { return factor_ > 0; }
  /// The state.
  const State& state() const { return state_; }
  /// The state, for restoring it.
  State& state() { return state_; }

 private:
  double factor_;
  State state_;
};

}  // namespace xgrad
