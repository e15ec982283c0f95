#include <xgrad/autograd/gradcheck/differences.hpp>

#include <cmath>
#include <limits>

#include <xgrad/autograd/check.hpp>

namespace xgrad::detail {

template <class T>
long double Differences<T>::derivative(const std::vector<Move<T>>& moves, long double step,
                                       long double expected, long double goal) const {
  long double best = 0;
  for (int attempt = 0; attempt < 5; ++attempt, step /= 8) {
    const Estimate next = richardson(moves, step);
    const long double distance = std::fabs(next.value - expected);
    if (attempt == 0 || !(std::fabs(best - expected) <= distance)) best = next.value;
    if (distance <= goal || next.error <= goal) break;
  }
  return best;
}

// The error of a central difference is a series in even powers of the step. Combining the
// differences at step, step/2, step/4, ... eliminates the lowest power with each further level.
template <class T>
typename Differences<T>::Estimate Differences<T>::richardson(const std::vector<Move<T>>& moves,
                                                             long double step) const {
  std::vector<long double> row(levels_);
  for (std::size_t level = 0; level < row.size(); ++level) {
    row[level] = central(moves, std::ldexp(step, -int(level)));
  }
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
long double Differences<T>::central(const std::vector<Move<T>>& moves, long double step) const {
  const Tensor<T> above = at(moves, step);
  const Tensor<T> below = at(moves, -step);
  long double sum = 0;
  for (std::size_t i = 0; i < u_.size(); ++i) {
    const long double change = static_cast<long double>(above.data()[i]) - below.data()[i];
    sum += u_.data()[i] * change;
  }
  return sum / (2 * step);
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
