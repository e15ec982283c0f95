#include <xgrad/autograd/gradcheck/differences.hpp>

#include <cmath>
#include <limits>

#include <xgrad/autograd/check.hpp>

namespace xgrad::detail {

template <class T>
Estimate Differences<T>::derivative(const std::vector<Move<T>>& moves, long double step,
                                    long double expected, long double goal) const {
  constexpr std::size_t kMost = 14;
  Estimate best{std::numeric_limits<long double>::quiet_NaN(), 0};
  std::vector<long double> differences;  // at step, step/2, step/4, ...
  for (std::size_t k = 0; k < kMost; ++k) {
    const Estimate shortest = central(moves, std::ldexp(step, -int(k)));
    differences.push_back(shortest.value);
    if (differences.size() > levels_ + 2) differences.erase(differences.begin());
    // The longest steps of all may reach beyond a kink.
    for (std::size_t levels = levels_; levels <= differences.size(); ++levels) {
      const Estimate next = richardson({differences.end() - long(levels), differences.end()});
      const long double distance = std::fabs(next.value - expected);
      if (!(std::fabs(best.value - expected) <= distance)) best = {next.value, shortest.error};
      if (distance <= goal || next.error <= goal) return best;
    }
  }
  return best;
}

// The error of a central difference is a series in even powers of the step. Combining the
// differences at step, step/2, step/4, ... eliminates the lowest power with each further level.
template <class T>
Estimate Differences<T>::richardson(std::vector<long double> row) {
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

// Subtracts outputs one by one, so that unchanged outputs add no rounding error.
template <class T>
Estimate Differences<T>::central(const std::vector<Move<T>>& moves, long double step) const {
  const Tensor<T> above = at(moves, step);
  const Tensor<T> below = at(moves, -step);
  long double sum = 0, size = 0;
  for (std::size_t i = 0; i < u_.size(); ++i) {
    const long double change = static_cast<long double>(above.data()[i]) - below.data()[i];
    sum += u_.data()[i] * change;
    if (change != 0) size += std::fabs(static_cast<long double>(u_.data()[i]) * above.data()[i]);
  }
  return {sum / (2 * step), 4 * size * std::numeric_limits<T>::epsilon() / step};
}

template <class T>
Tensor<T> Differences<T>::at(const std::vector<Move<T>>& moves, long double step) const {
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
              ", the reference function ", y.shape());
  return y;
}

template class Differences<double>;
template class Differences<long double>;

}  // namespace xgrad::detail
