#include <xgrad/layers/init.hpp>

#include <algorithm>
#include <cmath>

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

Initializer xavier_uniform() {
  return [](std::span<double> values, const Shape& shape, const Rng& rng) {
    check_shape(shape.size() == 2, "xavier_uniform: expected a matrix, got shape ", shape);
    uniform(std::sqrt(6.0 / double(shape[0] + shape[1])))(values, shape, rng);
  };
}

}  // namespace xgrad::init
