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
    double factor = 1.0;                                    ///< of the learning rate
    double best = std::numeric_limits<double>::infinity();  ///< the least loss so far
    std::uint64_t bad = 0;  ///< evaluations since the best, or since the last fall
  };

  /// Begins with factor 1.
  Plateau(double gamma, std::uint64_t patience, double final)
      : gamma_(gamma), final_(final), patience_(patience) {}

  /// The loss of the next evaluation.
  void observe(double loss);
  /// That of the learning rate now.
  double factor() const { return state_.factor; }

  /// Where it stands.
  const State& state() const { return state_; }
  /// Goes on from there.
  void restore(const State& state) { state_ = state; }

 private:
  double gamma_, final_;
  std::uint64_t patience_;
  State state_;
};

}  // namespace xgrad
