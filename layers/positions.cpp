#include <xgrad/layers/positions.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include <xgrad/autograd/portable_math.hpp>
#include <xgrad/layers/init.hpp>

namespace xgrad {

namespace {

// (queries, keys): the position of the key minus the position of the query.
Tensor<double> distances(std::size_t queries, std::size_t keys, std::size_t first) {
  return xt::arange<double>(double(keys)) -
         xt::view(xt::arange<double>(double(first), double(first + queries)), xt::all(),
                  xt::newaxis());
}

}  // namespace

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

std::vector<double> alibi_slopes(std::size_t heads) {
  const std::size_t power = std::bit_floor(heads);
  std::vector<double> slopes;
  for (std::size_t h = 1; h <= power; ++h) {
    slopes.push_back(portable::exp2(-8.0 * double(h) / double(power)));
  }
  for (std::size_t h = 1; slopes.size() < heads; h += 2) {
    slopes.push_back(portable::exp2(-8.0 * double(h) / double(2 * power)));
  }
  return slopes;
}

template <class T>
PositionBias<T>::PositionBias(const Scope<T>& scope, PositionKind kind, std::size_t heads,
                              std::size_t max_distance)
    : kind_(kind), heads_(heads), max_distance_(max_distance) {
  if (kind != PositionKind::relative_bias) return;
  table_ = scope.parameter("relative_position_bias_table", {2 * max_distance + 1, heads},
                           init::normal(0.02), WeightDecay::off);
}

template <class T>
Variable<T> PositionBias<T>::operator()(std::size_t queries, std::size_t keys,
                                        std::size_t first) const {
  if (kind_ == PositionKind::alibi) {
    const std::vector<double> slopes = alibi_slopes(heads_);
    Tensor<double> factors = empty<double>({heads_, 1, 1});
    std::transform(slopes.begin(), slopes.end(), factors.data(), std::negate<>());
    return Variable<T>(Tensor<T>(factors * xt::abs(distances(queries, keys, first))));
  }
  if (kind_ != PositionKind::relative_bias) return {};
  const double most = double(max_distance_);
  const Ids rows = xt::clip(distances(queries, keys, first), -most, most) + most;
  return transpose(embedding(table_, rows), {2, 0, 1});
}

#define XGRAD_INSTANTIATE(T)                                          \
  template decltype(sinusoidal_positions<T>) sinusoidal_positions<T>; \
  template decltype(relative_index<T>) relative_index<T>;             \
  template class Positions<T>;                                        \
  template class PositionBias<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
