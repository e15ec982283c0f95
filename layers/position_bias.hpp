// PositionBias: what the distance of two tokens adds to their attention score.
#pragma once

#include <xgrad/layers/positions.hpp>

namespace xgrad {

/// (H): the slopes m_h of ALiBi: 2^(-8 h / H), h = 1 ... H, where H is a power of two; else those
/// of the next lower power, then every other one of twice that power. Press et al. 2021.
std::vector<double> alibi_slopes(std::size_t heads);

/// Added to the scores of query i and key j of head h:
///
///     alibi:          -m_h |i - j|, symmetric, since tokens see both sides. Press et al. 2021.
///     relative_bias:  relative_position_bias_table[clip(j - i, -K, K) + K][h], learned (normal,
///                     0.02), (2K + 1, H). A clipped distance as Shaw et al. 2018 have it, added as
///                     a number a head as Raffel et al. 2020 do, without their logarithmic buckets.
///
/// Nothing for any other kind.
template <class T>
class PositionBias {
 public:
  /// Makes its parameter, if it has one, below `scope`.
  PositionBias(const Scope<T>& scope, PositionKind kind, std::size_t heads,
               std::size_t max_distance);

  /// (H, N, M); undefined where there is nothing to add.
  Variable<T> operator()(std::size_t queries, std::size_t keys) const;

 private:
  PositionKind kind_;
  std::size_t heads_, max_distance_;
  Variable<T> table_;  // of relative_bias
};

}  // namespace xgrad
