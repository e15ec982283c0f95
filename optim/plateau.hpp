// Plateau: a learning rate that falls when the validation loss does not.
#pragma once

#include <cstdint>
#include <limits>

namespace xgrad {

/// The factor of the learning rate: 1 at first; times gamma, but never below `final`, after more
/// than `patience` evaluations in a row none of which was below 0.9999 of the best one before.
/// torch.optim.lr_scheduler.ReduceLROnPlateau with its defaults.
class Plateau {
 public:
  /// All that the next factor depends on.
  struct State {
    double factor = 1.0;
    double best = std::numeric_limits<double>::infinity();
    std::uint64_t bad = 0;  ///< evaluations since the best, or since the last fall
  };

  Plateau(double gamma, std::uint64_t patience, double final)
      : gamma_(gamma), final_(final), patience_(patience) {}

  void observe(double loss);
  double factor() const { return state_.factor; }

  const State& state() const { return state_; }
  void restore(const State& state) { state_ = state; }

 private:
  double gamma_, final_;
  std::uint64_t patience_;
  State state_;
};

}  // namespace xgrad
