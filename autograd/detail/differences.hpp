// Numerical derivatives. Internal to check_gradients().
#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/tensor.hpp>
#include <xgrad/autograd/variable.hpp>

namespace xgrad::detail {

/// How an element of an input of f moves: *value = origin + speed * step. f: see Differences.
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

/// Computes derivatives of <u, f>, the inner product of f and a constant tensor u, along straight
/// lines. T is long double or double. f must outlive the Differences.
template <class T>
class Differences {
 public:
  Differences(const std::function<Variable<T>()>& f, const Tensor<double>& u, std::size_t levels)
      : f_(f), u_(cast<T>(u)), levels_(levels) {}

  /// The derivative along `moves` by Richardson extrapolation. Computes central differences with
  /// the step lengths step, step / 2, ..., at most down to step / 8192. After each difference,
  /// extrapolates from the last levels, levels + 1 and levels + 2 differences, as far as there are
  /// so many. With more differences, the steps can be longer, so rounding errors are smaller. Stops
  /// when an estimate is within `goal` of `expected`, or differs by at most `goal` from the
  /// estimate with one difference less. Returns the estimate nearest to `expected`. Estimate::error
  /// is the error of the derivative if values of f have errors of up to four ulp. Restores the
  /// moved values.
  Estimate derivative(const std::vector<Move<T>>& moves, long double step, long double expected,
                      long double goal) const {
    constexpr std::size_t kMost = 14;
    Estimate best{std::numeric_limits<long double>::quiet_NaN(), 0};
    std::vector<long double> differences;  // at step, step/2, step/4, ...
    for (std::size_t k = 0; k < kMost; ++k) {
      const Estimate shortest = central(moves, std::ldexp(step, -int(k)));
      differences.push_back(shortest.value);
      if (differences.size() > levels_ + 2) differences.erase(differences.begin());
      // Starts with the shortest steps: longer steps may reach beyond a kink.
      for (std::size_t levels = levels_; levels <= differences.size(); ++levels) {
        const Estimate next = richardson({differences.end() - long(levels), differences.end()});
        const long double distance = std::fabs(next.value - expected);
        if (!(std::fabs(best.value - expected) <= distance)) best = {next.value, shortest.error};
        if (distance <= goal || next.error <= goal) return best;
      }
    }
    return best;
  }

 private:
  // The error of a central difference is a series in even powers of the step. Each further level
  // combines the differences at step, step/2, step/4, ... to eliminate the lowest power left.
  static Estimate richardson(std::vector<long double> row) {
    long double error = std::numeric_limits<long double>::infinity();
    for (std::size_t k = 1; k < row.size(); ++k) {
      const long double factor = std::ldexp(1.0L, 2 * int(k));
      const long double before = row.back();
      for (std::size_t level = row.size(); level-- > k;) {
        row[level] = (factor * row[level] - row[level - 1]) / (factor - 1);
      }
      error = std::fabs(row.back() - before);
    }
    return {row.back(), error};
  }

  // The central difference with this step, and its error by rounding of f. Subtracts outputs one by
  // one, so that unchanged outputs add no rounding error.
  Estimate central(const std::vector<Move<T>>& moves, long double step) const {
    const Tensor<T> above = at(moves, step), below = at(moves, -step);
    long double sum = 0, size = 0;
    for (std::size_t i = 0; i < u_.size(); ++i) {
      const long double u = u_.data()[i], high = above.data()[i], change = high - below.data()[i];
      sum += u * change;
      if (change != 0) size += std::fabs(u * high);
    }
    return {sum / (2 * step), 4 * size * std::numeric_limits<T>::epsilon() / step};
  }

  Tensor<T> at(const std::vector<Move<T>>& moves, long double step) const {
    struct Restore {
      const std::vector<Move<T>>& moves;
      ~Restore() {
        for (const Move<T>& move : moves) *move.value = move.origin;
      }
    } restore{moves};
    for (const Move<T>& move : moves) *move.value = T(move.origin + T(step) * move.speed);
    const NoGrad no_grad;
    Tensor<T> y = f_().value();
    check_shape(y.shape() == u_.shape(), "check_gradients: f returns shape ", u_.shape(),
                ", but the reference function returns shape ", y.shape());
    return y;
  }

  const std::function<Variable<T>()>& f_;
  Tensor<T> u_;
  std::size_t levels_;
};

}  // namespace xgrad::detail
