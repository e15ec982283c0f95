#include <xgrad/layers/positions.hpp>

#include <algorithm>
#include <bit>
#include <functional>

#include <xgrad/autograd/portable_math.hpp>
#include <xgrad/autograd/scalar.hpp>
#include <xgrad/layers/init.hpp>

namespace xgrad {

namespace {

// (queries, keys): the position of the key minus that of the query.
Tensor<double> distances(std::size_t queries, std::size_t keys, std::size_t first) {
  return xt::arange<double>(double(keys)) -
         xt::view(xt::arange<double>(double(first), double(first + queries)), xt::all(),
                  xt::newaxis());
}

}  // namespace

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

#define XGRAD_INSTANTIATE(T) template class PositionBias<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
