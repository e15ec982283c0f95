// Plateau: lowers the learning rate when the validation loss stops improving.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace xgrad {

/// The factor of the learning rate, 1 at first. After more than `patience` evaluations in a row
/// without a loss below 0.9999 of the best one, it is multiplied by gamma, but never below `final`.
/// torch.optim.lr_scheduler.ReduceLROnPlateau with its defaults.
class Plateau {
 public:
  /// The whole state.
  struct State {
    double factor = 1.0;                                    ///< factor of the learning rate
    double best = std::numeric_limits<double>::infinity();  ///< lowest loss so far
    std::uint64_t bad = 0;  ///< evaluations since the best loss or the last reduction
  };

  /// Starts with factor 1.
  Plateau(double gamma, std::uint64_t patience, double final)
      : gamma_(gamma), final_(final), patience_(patience) {}

  /// Adds the validation loss of an evaluation.
  void observe(double loss) {
    constexpr double kThreshold = 1e-4;
    if (loss < state_.best * (1 - kThreshold)) {
      state_.best = loss;
      state_.bad = 0;
    } else if (++state_.bad > patience_) {
      state_.factor = std::max(state_.factor * gamma_, final_);
      state_.bad = 0;
    }
  }
  /// The current factor of the learning rate.
  double factor() const { return state_.factor; }

  /// The state.
  const State& state() const { return state_; }
  /// The state, for restoring it.
  State& state() { return state_; }

 private:
  double gamma_, final_;
  std::uint64_t patience_;
  State state_;
};

}  // namespace xgrad
