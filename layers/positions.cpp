#include <xgrad/layers/positions.hpp>

#include <cmath>

#include <xgrad/autograd/portable_math.hpp>
#include <xgrad/autograd/scalar.hpp>
#include <xgrad/layers/init.hpp>

namespace xgrad {

template <class T>
Tensor<T> sinusoidal_positions(std::size_t max_length, std::size_t width) {
  Tensor<T> table = empty<T>({max_length, width});
  for (std::size_t p = 0; p < max_length; ++p) {
    for (std::size_t i = 0; i < width; ++i) {
      const double angle = double(p) / portable::pow(10000.0, double(i - i % 2) / double(width));
      table.data()[p * width + i] = T(i % 2 == 0 ? portable::sin(angle) : portable::cos(angle));
    }
  }
  return table;
}

template <class T>
Tensor<T> relative_index(const Shape& batch, const SharedMask& mask) {
  Tensor<T> features = zeros<T>({batch[0], batch[1], 2});
  for (std::size_t b = 0; b < batch[0]; ++b) {
    const auto kept = [&](std::size_t i) { return !mask || mask->data()[b * batch[1] + i] != 0; };
    std::size_t n = 0, place = 0;
    for (std::size_t i = 0; i < batch[1]; ++i) n += kept(i);
    for (std::size_t i = 0; i < batch[1]; ++i) {
      if (!kept(i)) continue;
      features(b, i, 0) = T(place) / T(n);
      features(b, i, 1) = T(place % 2 == 0 ? 1 : -1);
      ++place;
    }
  }
  return features;
}

template <class T>
Positions<T>::Positions(const Scope<T>& scope, const PositionOptions& options) : options_(options) {
  const auto learned = [&](const char* name, std::size_t rows) {
    return scope.parameter(name, {rows, options.width}, init::normal(0.02), WeightDecay::off);
  };
  if (options.kind == PositionKind::learned) weight_ = learned("weight", options.max_length);
  if (options.kind == PositionKind::sinusoidal)
    weight_ = Variable<T>(sinusoidal_positions<T>(options.max_length, options.width));
  if (options.kind == PositionKind::learned_2d) {
    weight_ = learned("row_weight", options.rows);
    columns_ = learned("column_weight", options.columns);
  }
  if (options.kind == PositionKind::relative_index) {
    weight_ = scope.parameter("weight", {options.width, 2}, init::uniform(1 / std::sqrt(2.0)),
                              WeightDecay::off);
  }
}

template <class T>
Variable<T> Positions<T>::operator()(const Variable<T>& x, const SharedMask& mask,
                                     std::size_t first) const {
  if (!weight_.defined()) return x;
  const std::size_t end = first + x.shape()[1];
  if (options_.kind == PositionKind::relative_index) {
    check_shape(first == 0, "positions: relative_index needs all tokens at once");
    const Shape batch{x.shape()[0], end};
    return add(x, linear(Variable<T>(relative_index<T>(batch, mask)), weight_));
  }
  const std::size_t longest = options_.max_length;
  check_shape(end <= longest, "positions: expected at most ", longest, " tokens, got ", end);
  if (columns_.defined()) {
    check_shape(end == longest, "positions: expected the ", longest, " patches of an image, got ",
                end);
    // One vector per patch in row-major order, after zeros for a class token.
    const std::size_t rows = options_.rows, width = options_.width;
    const Variable<T> grid = reshape(add(reshape(weight_, {rows, 1, width}), columns_),
                                     {rows * options_.columns, width});
    if (!options_.class_token) return add(x, grid);
    return add(x, concat<T>({Variable<T>(zeros<T>({1, width})), grid}, 0));
  }
  return add(x, first == 0 && end == longest ? weight_ : slice(weight_, 0, first, end));
}

#define XGRAD_INSTANTIATE(T)                                          \
  template Tensor<T> sinusoidal_positions(std::size_t, std::size_t);  \
  template Tensor<T> relative_index(const Shape&, const SharedMask&); \
  template class Positions<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
