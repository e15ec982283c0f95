#include <xgrad/layers/init.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

namespace xgrad::init {

Initializer constant(double value) {
  return [value](std::span<double> values, const Shape&, const Rng&) {
    std::fill(values.begin(), values.end(), value);
  };
}

Initializer normal(double std) {
  return [std](std::span<double> values, const Shape&, const Rng& rng) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = std * rng.normal(i);
  };
}

Initializer uniform(double bound) {
  return [bound](std::span<double> values, const Shape&, const Rng& rng) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = bound * (2 * rng.uniform(i) - 1);
  };
}

// An initializer whose size follows from the shape (fan_out, fan_in) of a matrix.
template <class F>
static Initializer of_matrix(const char* name, const F& f) {
  return [=](std::span<double> values, const Shape& shape, const Rng& rng) {
    check_shape(shape.size() == 2, name, ": expected a matrix, got shape ", shape);
    f(double(shape[1]), double(shape[0]))(values, shape, rng);
  };
}

Initializer xavier_uniform() {
  return of_matrix("xavier_uniform",
                   [](double in, double out) { return uniform(std::sqrt(6.0 / (in + out))); });
}

Initializer xavier_normal() {
  return of_matrix("xavier_normal",
                   [](double in, double out) { return normal(std::sqrt(2.0 / (in + out))); });
}

Initializer kaiming_uniform() {
  return of_matrix("kaiming_uniform",
                   [](double in, double) { return uniform(std::sqrt(6.0 / in)); });
}

Initializer kaiming_normal() {
  return of_matrix("kaiming_normal", [](double in, double) { return normal(std::sqrt(2.0 / in)); });
}

Initializer trunc_normal(double std) {
  return [std](std::span<double> values, const Shape&, const Rng& rng) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      double x = rng.normal(i);
      for (std::uint64_t again = 0; std::abs(x) > 2; ++again) x = (rng / again).normal(i);
      values[i] = std * x;
    }
  };
}

// The Gram-Schmidt process with positive lengths: the Q of a QR decomposition in which R has a
// positive diagonal. For a Gaussian matrix, this Q is uniformly distributed (Mezzadri 2007). Each
// vector is made orthogonal twice, so that only rounding errors remain.
static void orthonormalise(std::span<double> vectors, std::size_t count, std::size_t size) {
  for (std::size_t i = 0; i < count; ++i) {
    double* x = vectors.data() + i * size;
    for (std::size_t k = 0; k < 2 * i; ++k) {
      const double* before = vectors.data() + k % i * size;
      const double part = std::inner_product(x, x + size, before, 0.0);
      for (std::size_t e = 0; e < size; ++e) x[e] -= part * before[e];
    }
    const double length = std::sqrt(std::inner_product(x, x + size, x, 0.0));
    for (std::size_t e = 0; e < size; ++e) x[e] /= length;
  }
}

Initializer orthogonal() {
  return [](std::span<double> values, const Shape& shape, const Rng& rng) {
    check_shape(shape.size() == 2, "orthogonal: expected a matrix, got shape ", shape);
    normal(1)(values, shape, rng);
    const std::size_t rows = shape[0], columns = shape[1];
    if (rows <= columns) return orthonormalise(values, rows, columns);
    std::vector<double> turned(values.size());
    const auto turn = [](auto from, auto to, std::size_t height, std::size_t width) {
      for (std::size_t i = 0; i < height * width; ++i) to[i % width * height + i / width] = from[i];
    };
    turn(values, std::span(turned), rows, columns);
    orthonormalise(turned, columns, rows);
    turn(std::span(turned), values, columns, rows);
  };
}

Initializer scaled(Initializer init, double factor) {
  return [init = std::move(init), factor](std::span<double> values, const Shape& shape,
                                          const Rng& rng) {
    init(values, shape, rng);
    for (double& value : values) value *= factor;
  };
}

}  // namespace xgrad::init
