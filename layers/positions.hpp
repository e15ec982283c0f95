// Positions: positional encodings that are added to tokens.
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
  std::size_t max_length = 0;                 ///< most tokens, including a class token
  std::size_t width = 0;                      ///< D
  std::size_t rows = 0;                       ///< rows of patches, for learned_2d
  std::size_t columns = 0;                    ///< columns of patches, for learned_2d
  bool class_token = false;                   ///< a class token precedes them, for learned_2d
};

/// (max_length, D): PE(p, 2i) = sin(p / 10000^(2i/D)), PE(p, 2i+1) = cos(p / 10000^(2i/D)). Vaswani
/// et al. 2017.
template <class T>
Tensor<T> sinusoidal_positions(std::size_t max_length, std::size_t width);

/// (B, N, 2): i/n and (-1)^i for token i = 0 ... n-1 of the n that `mask` (B, N) keeps, null = all;
/// zeros for the others. `batch` is (B, N). Yao et al. 2021 use the first, Chiang & Cholak 2022
/// both.
template <class T>
Tensor<T> relative_index(const Shape& batch, const SharedMask& mask);

/// Adds a vector P_i to token i: x (B, N, D) + P. Kinds that act in attention add nothing.
///
///     learned:        P_i = weight_i; weight (max_length, D), initially N(0, 0.02^2)
///     sinusoidal:     P_i = PE(i), fixed
///     learned_2d:     P_rc = row_weight_r + column_weight_c for the patch in row r and column c;
///                     row_weight (rows, D), column_weight (columns, D), initially N(0, 0.02^2);
///                     0 for a class token, which is a learned vector itself
///     relative_index: P_i = W (i/n, (-1)^i); weight (D, 2), initially U(-1/sqrt(2), 1/sqrt(2))
template <class T>
class Positions {
 public:
  /// Makes its parameters, if it has any, below `scope`.
  Positions(const Scope<T>& scope, const PositionOptions& options);

  /// x (B, N, D) -> (B, N, D), for the tokens from position `first` on. `mask` (B, N): 1 = a token,
  /// 0 = padding; null = all tokens. Throws ShapeError when first + N exceeds max_length
  /// (relative_index takes any N, but only first = 0) or, for learned_2d, differs from the number
  /// of patches.
  Variable<T> operator()(const Variable<T>& x, const SharedMask& mask, std::size_t first = 0) const;

 private:
  Variable<T> grid() const;

  PositionOptions options_;
  Variable<T> weight_;   // row_weight for learned_2d
  Variable<T> columns_;  // column_weight of learned_2d
};

}  // namespace xgrad
