// Numerical derivatives in long double. Internal to check_gradients().
#pragma once

#include <functional>
#include <vector>

#include <xgrad/autograd/tensor.hpp>
#include <xgrad/autograd/variable.hpp>

namespace xgrad::detail {

/// A number that f reads, and its speed along a line: *value = origin + speed * step.
struct Move {
  long double* value;
  long double origin;
  long double speed;
};

/// A derivative and an estimate of its error.
struct Estimate {
  long double value;
  long double error;
};

/// Computes derivatives of <u, f> along straight lines. f must outlive it.
class Differences {
 public:
  Differences(const std::function<Variable<long double>()>& f, const Tensor<double>& u)
      : f_(f), u_(cast<long double>(u)) {}

  /// The derivative along `moves` by four-level Richardson extrapolation. Until the error is below
  /// `goal`, makes the step eight times shorter, up to four times. Restores the values moved.
  Estimate derivative(const std::vector<Move>& moves, long double step, long double goal) const;

 private:
  Estimate richardson(const std::vector<Move>& moves, long double step) const;
  long double central(const std::vector<Move>& moves, long double step) const;
  Tensor<long double> at(const std::vector<Move>& moves, long double step) const;

  const std::function<Variable<long double>()>& f_;
  Tensor<long double> u_;
};

}  // namespace xgrad::detail
