#include <xgrad/layers/attention/position_bias.hpp>

#include <algorithm>
#include <bit>
#include <cmath>

#include <xgrad/autograd/scalar.hpp>
#include <xgrad/layers/init.hpp>

namespace xgrad {

namespace {

template <class T>
Tensor<T> alibi(std::size_t heads, std::size_t queries, std::size_t keys, std::size_t first) {
  const std::vector<double> slopes = alibi_slopes(heads);
  Tensor<T> bias = empty<T>({heads, queries, keys});
  for (std::size_t i = 0; i < bias.size(); ++i) {
    const double distance = double(i % keys) - double(first + i / keys % queries);
    bias.data()[i] = T(-slopes[i / (keys * queries)] * std::fabs(distance));
  }
  return bias;
}

}  // namespace

std::vector<double> alibi_slopes(std::size_t heads) {
  const std::size_t power = std::bit_floor(heads);
  std::vector<double> slopes;
  for (std::size_t h = 1; h <= power; ++h) {
    slopes.push_back(std::exp2(-8.0 * double(h) / double(power)));
  }
  for (std::size_t h = 1; slopes.size() < heads; h += 2) {
    slopes.push_back(std::exp2(-8.0 * double(h) / double(2 * power)));
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
  if (kind_ == PositionKind::alibi) return Variable<T>(alibi<T>(heads_, queries, keys, first));
  if (kind_ != PositionKind::relative_bias) return {};
  Ids rows = empty<std::int32_t>({queries, keys});
  const auto most = std::ptrdiff_t(max_distance_);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto distance = std::ptrdiff_t(i % keys) - std::ptrdiff_t(first + i / keys);
    rows.data()[i] = std::int32_t(std::clamp(distance, -most, most) + most);
  }
  return transpose(embedding(table_, rows), {2, 0, 1});
}

#define XGRAD_INSTANTIATE(T) template class PositionBias<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
