// Schedules: the learning rate as a pure function of the step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace xgrad {

/// What a schedule is set to; each shape reads what it knows.
struct ScheduleSettings {
  double final = 0.0;       ///< the last learning rate, as a part of lr
  double power = 1.0;       ///< of polynomial
  std::uint64_t every = 0;  ///< steps from one fall of step to the next
  double gamma = 0.1;       ///< factor of such a fall
  double decay = 0.2;       ///< part of the steps after warm-up in which wsd falls
  double div = 25.0;        ///< one_cycle begins at lr / div
};

/// The learning rate of step s = 0, 1, ..., steps - 1.
///
/// Warm-up, for s < warmup: lr (s + 1) / (warmup + 1), a line that reaches lr at s = warmup and
/// never wastes a step at 0. From then on, with n = s - warmup and p = n / (steps - warmup), which
/// is 0 at s = warmup and would be 1 at s = steps:
///
///   constant    lr
///   linear      lr (1 - (1 - final) p)
///   cosine      lr (final + (1 - final) (1 + cos(pi p)) / 2)    Loshchilov & Hutter 2017, without
///   restarts
///   polynomial  lr (final + (1 - final) (1 - p)^power)
///   step        lr gamma^floor(n / every)
///   noam        lr sqrt((warmup + 1) / (s + 1))                 Vaswani et al. 2017
///   wsd         lr until p = 1 - decay, then a line to lr final  Hu et al. 2024
///   one_cycle   cosines from lr / div to lr at s = warmup, in place of the line, and to lr final
///   at
///               s = steps - 1                                   Smith & Topin 2018
///   plateau     lr; Plateau gives the factor
///
/// and, for every s >= steps, what the formula gives at p = 1; step and noam just go on.
class Schedule {
 public:
  /// The formulas above.
  enum class Shape { constant, linear, cosine, polynomial, step, noam, wsd, one_cycle, plateau };

  /// Throws ConfigError unless warmup <= steps, and when step has no `every`.
  Schedule(Shape shape, double lr, std::uint64_t steps, std::uint64_t warmup,
           const ScheduleSettings& settings);

  /// The learning rate of a step; 0 is the first.
  double operator()(std::uint64_t step) const;

  /// The shape of that name. Throws ConfigError that lists the names when there is none.
  static Shape shape(const std::string& name);

 private:
  double one_cycle(std::uint64_t step) const;

  Shape shape_;
  double lr_;
  ScheduleSettings settings_;
  std::uint64_t steps_, warmup_;
};

/// All names, in the order of Shape.
std::vector<std::string> schedule_names();

/// The members of ScheduleSettings (and "patience", of Plateau) that the schedule of this name
/// reads.
const std::vector<std::string>& schedule_keys(const std::string& name);

}  // namespace xgrad
