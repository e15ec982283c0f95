// Positions adds positional vectors to tokens. PositionBias returns a bias for attention scores.
#pragma once

#include <xgrad/layers/module.hpp>

namespace xgrad {

/// The kind of positional encoding. learned, learned_2d, sinusoidal and relative_index are added to
/// tokens by Positions; rotary, alibi and relative_bias act in attention.
enum class PositionKind {
  none,
  learned,
  learned_2d,
  sinusoidal,
  relative_index,
  rotary,
  alibi,
  relative_bias
};

/// Options of Positions.
struct PositionOptions {
  PositionKind kind = PositionKind::learned;  ///< kind of encoding
  std::size_t max_length = 0;                 ///< largest number of tokens, class token included
  std::size_t width = 0;                      ///< D, width of a token
  std::size_t rows = 0;                       ///< rows of patches, for learned_2d
  std::size_t columns = 0;                    ///< columns of patches, for learned_2d
  bool class_token = false;                   ///< for learned_2d: token 0 is a class token
};

/// (max_length, D): PE(p, 2i) = sin(p / 10000^(2i/D)), PE(p, 2i+1) = cos(p / 10000^(2i/D)). Vaswani
/// et al. 2017.
template <class T>
Tensor<T> sinusoidal_positions(std::size_t max_length, std::size_t width);

/// Two numbers for each token, (B, N, 2); `batch` is (B, N). `mask` (B, N) keeps n tokens of an
/// example; null keeps all. Kept token i = 0 ... n-1 gets i/n and (-1)^i; a masked token gets two
/// zeros. Yao et al. 2021 use only i/n, Chiang & Cholak 2022 both numbers.
template <class T>
Tensor<T> relative_index(const Shape& batch, const SharedMask& mask);

/// Adds a vector P_i to token i: x (B, N, D) + P. Kinds that act in attention add nothing.
///
///     learned:        P_i = weight_i; weight (max_length, D), initially N(0, 0.02^2)
///     sinusoidal:     P_i = PE(i), fixed
///     learned_2d:     P_rc = row_weight_r + column_weight_c for the patch in row r and column c;
///                     row_weight (rows, D), column_weight (columns, D), initially N(0, 0.02^2);
///                     0 for a class token, because the class token itself is learned
///     relative_index: P_i = W (i/n, (-1)^i); weight (D, 2), initially U(-1/sqrt(2), 1/sqrt(2))
template <class T>
class Positions {
 public:
  /// Makes its parameters, if it has any. Their names begin with scope.path().
  Positions(const Scope<T>& scope, const PositionOptions& options);

  /// x (B, N, D) -> (B, N, D), for the tokens from position `first` on. `mask` (B, N): 1 = a token,
  /// 0 = padding; null = all tokens. Throws ShapeError if first + N exceeds max_length (learned,
  /// sinusoidal) or differs from max_length (learned_2d), or if first is not 0 (relative_index).
  Variable<T> operator()(const Variable<T>& x, const SharedMask& mask, std::size_t first = 0) const;

 private:
  PositionOptions options_;
  Variable<T> weight_;   // row_weight for learned_2d
  Variable<T> columns_;  // column_weight of learned_2d
};

/// The slopes m_h of ALiBi, (H). If H is a power of two: 2^(-8 h / H), h = 1 ... H. Otherwise: the
/// slopes for the next lower power of two, P, then every other slope for 2 P. Press et al. 2021.
std::vector<double> alibi_slopes(std::size_t heads);

/// The bias of the score of query i and key j in head h:
///
///     alibi:          -m_h |i - j|, symmetric, since tokens see both sides. Press et al. 2021.
///     relative_bias:  relative_position_bias_table[clip(j - i, -K, K) + K][h], K = max_distance;
///                     learned, (2K + 1, H), initially N(0, 0.02^2). The distance is clipped as in
///                     Shaw et al. 2018; one number per head is added as in Raffel et al. 2020,
///                     without their logarithmic buckets.
///
/// Other kinds have no bias.
template <class T>
class PositionBias {
 public:
  /// Makes its parameter, if it has one. Its name begins with scope.path().
  PositionBias(const Scope<T>& scope, PositionKind kind, std::size_t heads,
               std::size_t max_distance);

  /// The bias (H, N, M) for N = `queries` queries, at positions first ... first + N - 1, and M =
  /// `keys` keys, at positions 0 ... M - 1. Kinds without a bias return a Variable that is not
  /// defined().
  Variable<T> operator()(std::size_t queries, std::size_t keys, std::size_t first = 0) const;

 private:
  PositionKind kind_;
  std::size_t heads_, max_distance_;
  Variable<T> table_;  // relative_position_bias_table; undefined for other kinds
};

}  // namespace xgrad
