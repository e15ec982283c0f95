// Schedules: the learning rate as a pure function of the step. Plateau lowers the rate when the
// validation loss stops improving.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace xgrad {

/// Options of all schedules; each schedule reads the options that it needs.
struct ScheduleOptions {
  double final = 0.0;       ///< last learning rate, as a fraction of lr, in [0, 1]
  double power = 1.0;       ///< exponent of `polynomial`, > 0
  std::uint64_t every = 0;  ///< steps between two drops of `step`
  double gamma = 0.1;       ///< factor of a drop, in (0, 1)
  double decay = 0.2;       ///< `wsd`: fraction of steps after warm-up in which lr falls; in (0, 1]
  double div = 25.0;        ///< `one_cycle` starts at lr / div, >= 1
};

/// The learning rate of step s = 0, 1, ..., steps - 1.
///
/// Warm-up, for s < warmup: lr (s + 1) / (warmup + 1), a line that reaches lr at s = warmup and is
/// never 0. After warm-up, with n = s - warmup and p = n / (steps - warmup), so that p is 0 at s =
/// warmup and would be 1 at s = steps:
///
///   constant    lr
///   linear      lr (1 - (1 - final) p)
///   cosine      lr (final + (1 - final) (1 + cos(pi p)) / 2)    Loshchilov & Hutter 2017,
///                                                               without restarts
///   polynomial  lr (final + (1 - final) (1 - p)^power)
///   step        lr gamma^floor(n / every)
///   noam        lr sqrt((warmup + 1) / (s + 1))                 Vaswani et al. 2017
///   wsd         lr until p = 1 - decay, then a line to lr final  Hu et al. 2024
///   one_cycle   cosines from lr / div to lr at s = warmup, instead of the warm-up line,
///               and on to lr final at s = steps - 1             Smith & Topin 2018
///   plateau     lr, to be multiplied by Plateau::factor()
///
/// For s >= steps, the rate stays at its value for p = 1; only step and noam follow their formulas.
class Schedule {
 public:
  /// The formulas above, by name.
  enum class Shape { constant, linear, cosine, polynomial, step, noam, wsd, one_cycle, plateau };

  /// Throws ConfigError when warmup > steps, or when the shape is `step` and `every` is 0.
  Schedule(Shape shape, double lr, std::uint64_t steps, std::uint64_t warmup,
           const ScheduleOptions& options);

  /// A schedule of your own: `rate` returns the learning rate of a step, finite and at least 0.
  explicit Schedule(std::function<double(std::uint64_t step)> rate);

  /// Returns the learning rate of a step; the first step is 0.
  double operator()(std::uint64_t step) const;

  /// Returns the shape with this name. Throws ConfigError, with all names, for an unknown name.
  static Shape shape(const std::string& name);

 private:
  double one_cycle(std::uint64_t step) const;

  Shape shape_ = Shape::constant;
  double lr_ = 0;
  ScheduleOptions options_ = {};
  std::uint64_t steps_ = 0, warmup_ = 0;
  std::function<double(std::uint64_t)> rate_ = {};  // instead of the formulas
};

/// The names of all shapes, in the order of Shape.
std::vector<std::string> schedule_names();

/// The members of ScheduleOptions that a schedule reads, and "patience" for plateau. Throws
/// ConfigError as Schedule::shape().
const std::vector<std::string>& schedule_keys(const std::string& name);

/// The factor of the learning rate, 1 at first. After more than `patience` evaluations in a row
/// without a loss below 0.9999 of the best loss, the factor is multiplied by gamma, but it never
/// falls below `final`. The same as torch.optim.lr_scheduler.ReduceLROnPlateau with its defaults.
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
