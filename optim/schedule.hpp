// Schedules: the learning rate as a pure function of the step.
#pragma once

#include <cstdint>
#include <string>

namespace xgrad {

/// The learning rate of step s = 0, 1, ..., steps - 1.
///
/// Warm-up, for s < warmup: lr (s + 1) / (warmup + 1), a line that reaches lr at s = warmup and
/// never wastes a step at 0. From then on, with p = (s - warmup) / (steps - warmup), which is 0 at
/// s = warmup and would be 1 at s = steps:
///
///   constant  lr
///   linear    lr (1 - (1 - final) p)
///   cosine    lr (final + (1 - final) (1 + cos(pi p)) / 2)    Loshchilov & Hutter 2017, without
///   restarts
///
/// and, for every s >= steps, what the formula gives at p = 1.
class Schedule {
 public:
  enum class Shape { constant, linear, cosine };

  /// `final` is a part of lr. Throws ConfigError unless warmup <= steps.
  Schedule(Shape shape, double lr, std::uint64_t steps, std::uint64_t warmup, double final);

  double operator()(std::uint64_t step) const;

  /// The shape of that name. Throws ConfigError that lists the names when there is none.
  static Shape shape(const std::string& name);

 private:
  Shape shape_;
  double lr_, final_;
  std::uint64_t steps_, warmup_;
};

}  // namespace xgrad
