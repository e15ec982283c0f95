#include <xgrad/autograd/gradcheck/differences.hpp>

#include <array>
#include <cmath>

#include <xgrad/autograd/check.hpp>

namespace xgrad::detail {

Estimate Differences::derivative(const std::vector<Move>& moves, long double step,
                                 long double goal) const {
  Estimate best = richardson(moves, step);
  for (int attempt = 0; attempt < 4 && !(best.error <= goal); ++attempt) {
    step /= 8;
    const Estimate next = richardson(moves, step);
    if (!(best.error <= next.error)) best = next;
  }
  return best;
}

// The error of a central difference is a series in even powers of the step. Combining the
// differences at step, step/2, step/4 and step/8 eliminates the powers below the eighth.
Estimate Differences::richardson(const std::vector<Move>& moves, long double step) const {
  std::array<long double, 4> row;
  for (std::size_t level = 0; level < row.size(); ++level) {
    row[level] = central(moves, std::ldexp(step, -int(level)));
  }
  long double error = 0;
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
long double Differences::central(const std::vector<Move>& moves, long double step) const {
  const Tensor<long double> above = at(moves, step);
  const Tensor<long double> below = at(moves, -step);
  long double sum = 0;
  for (std::size_t i = 0; i < u_.size(); ++i) {
    sum += u_.data()[i] * (above.data()[i] - below.data()[i]);
  }
  return sum / (2 * step);
}

Tensor<long double> Differences::at(const std::vector<Move>& moves, long double step) const {
  struct Restore {
    const std::vector<Move>& moves;
    ~Restore() {
      for (const Move& move : moves) *move.value = move.origin;
    }
  } restore{moves};
  for (const Move& move : moves) *move.value = move.origin + step * move.speed;
  const NoGrad no_grad;
  Tensor<long double> y = f_().value();
  check_shape(y.shape() == u_.shape(), "check_gradients: f returns shape ", u_.shape(),
              ", the reference function ", y.shape());
  return y;
}

}  // namespace xgrad::detail
