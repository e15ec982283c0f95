// PositionBias: a bias on attention scores that depends on the distance between two tokens.
#pragma once

#include <xgrad/layers/positions.hpp>

namespace xgrad {

/// The slopes m_h of ALiBi, (H). For a power of two they are 2^(-8 h / H), h = 1 ... H. For another
/// H they are the slopes of the next lower power P, then every other slope of 2 P. Press et al.
/// 2021.
std::vector<double> alibi_slopes(std::size_t heads);

/// The bias of the score of query i and key j in head h:
///
///     alibi:          -m_h |i - j|, symmetric, since tokens see both sides. Press et al. 2021.
///     relative_bias:  relative_position_bias_table[clip(j - i, -K, K) + K][h], learned (normal,
///                     0.02), (2K + 1, H). The distance is clipped as in Shaw et al. 2018; one
///                     number per head is added as in Raffel et al. 2020, without their
///                     logarithmic buckets.
///
/// Other kinds have no bias.
template <class T>
class PositionBias {
 public:
  /// Makes its parameter, if it has one, below `scope`.
  PositionBias(const Scope<T>& scope, PositionKind kind, std::size_t heads,
               std::size_t max_distance);

  /// The bias (H, N, M) of queries at the positions first ... first + N - 1 and keys at 0 ... M -
  /// 1; undefined for kinds without one.
  Variable<T> operator()(std::size_t queries, std::size_t keys, std::size_t first = 0) const;

 private:
  PositionKind kind_;
  std::size_t heads_, max_distance_;
  Variable<T> table_;  // relative_position_bias_table; undefined for other kinds
};

}  // namespace xgrad
