// Numerical derivatives. Internal to check_gradients().
#pragma once

#include <functional>
#include <vector>

#include <xgrad/autograd/tensor.hpp>
#include <xgrad/autograd/variable.hpp>

namespace xgrad::detail {

/// A number that f reads, and its speed along a line: *value = origin + speed * step.
template <class T>
struct Move {
  T* value;
  T origin;
  T speed;
};

/// A derivative and an estimate of its error.
struct Estimate {
  long double value;
  long double error;
};

/// Computes derivatives of <u, f> along straight lines, for f in long double or double. f must
/// outlive it.
template <class T>
class Differences {
 public:
  Differences(const std::function<Variable<T>()>& f, const Tensor<double>& u, std::size_t levels)
      : f_(f), u_(cast<T>(u)), levels_(levels) {}

  /// The derivative along `moves` by Richardson extrapolation. Until it is within `goal` of
  /// `expected`, or its estimated error is, halves the step, down to step / 8192, and extrapolates
  /// also from one and two levels more: where f curves on a short scale, steps that suit fewer
  /// levels are so short that rounding outweighs what they gain. Returns the derivative nearest to
  /// `expected`, and as its error that of rounding f, by up to four units in the last place, at its
  /// steps. Restores the values moved.
  Estimate derivative(const std::vector<Move<T>>& moves, long double step, long double expected,
                      long double goal) const;

 private:
  static Estimate richardson(std::vector<long double> row);
  /// The central difference, with the error of rounding f.
  Estimate central(const std::vector<Move<T>>& moves, long double step) const;
  Tensor<T> at(const std::vector<Move<T>>& moves, long double step) const;

  const std::function<Variable<T>()>& f_;
  Tensor<T> u_;
  std::size_t levels_;
};

}  // namespace xgrad::detail
