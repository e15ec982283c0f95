// Derivatives by differences, in long double. Internal to check_gradients().
#pragma once

#include <functional>
#include <vector>

#include <xgrad/autograd/tensor.hpp>
#include <xgrad/autograd/variable.hpp>

namespace xgrad::detail {

/// One number that f reads, and how fast it moves along a line.
struct Move {
  long double* value;
  long double origin;
  long double speed;
};

/// A derivative and the size of its own error.
struct Estimate {
  long double value;
  long double error;
};

/// Differences of <u, f> along straight lines. f and u must outlive it.
class Differences {
 public:
  Differences(const std::function<Variable<long double>()>& f, const Tensor<double>& u)
      : f_(f), u_(cast<long double>(u)) {}

  /// The derivative along `moves` by four-level Richardson extrapolation, with steps eight times
  /// shorter, up to four times, until its error is below `goal`. What the moves point at is left as
  /// it was.
  Estimate derivative(const std::vector<Move>& moves, long double step, long double goal) const;

 private:
  Estimate richardson(const std::vector<Move>& moves, long double step) const;
  long double central(const std::vector<Move>& moves, long double step) const;
  Tensor<long double> at(const std::vector<Move>& moves, long double step) const;

  const std::function<Variable<long double>()>& f_;
  Tensor<long double> u_;
};

}  // namespace xgrad::detail
