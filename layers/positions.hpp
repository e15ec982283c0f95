// Positions: what tells tokens apart by their place, where it is added to them.
#pragma once

#include <xgrad/layers/module.hpp>

namespace xgrad {

/// The first five are added to the tokens, by Positions; the rest act in attention.
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

/// Which positions, of how many places.
struct PositionOptions {
  PositionKind kind = PositionKind::learned;  ///< the kind
  std::size_t max_length = 0;                 ///< tokens, the class token included
  std::size_t width = 0;                      ///< D
  std::size_t rows = 0;                       ///< of patches, for learned_2d
  std::size_t columns = 0;                    ///< of patches, for learned_2d
  bool class_token = false;                   ///< stands before the patches, for learned_2d
};

/// (max_length, D): PE(p, 2i) = sin(p / 10000^(2i/D)), PE(p, 2i+1) = cos(p / 10000^(2i/D)). Vaswani
/// et al. 2017.
template <class T>
Tensor<T> sinusoidal_positions(std::size_t max_length, std::size_t width);

/// (B, N, 2): i/n and (-1)^i for token i of the n that `mask` (B, N) keeps; null: all. Yao et al.
/// 2021 use the first, Chiang & Cholak 2022 both.
template <class T>
Tensor<T> relative_index(const Shape& batch, const Mask* mask);

/// Adds a vector per place: x (B, N, D) + P.
///
///     learned:        P_i = weight_i; weight (max_length, D), normal with deviation 0.02
///     sinusoidal:     P_i = PE(i), fixed
///     learned_2d:     P_rc = row_weight_r + column_weight_c (rows, D), (columns, D) for the patch
///     in
///                     row r and column c; 0 for a class token, which is a learned vector anyway
///     relative_index: P_i = W (i/n, (-1)^i); weight (D, 2)
template <class T>
class Positions {
 public:
  /// Makes its parameters, if it has some, below `scope`.
  Positions(const Scope<T>& scope, const PositionOptions& options);

  /// `mask` (B, N): 1 = a token, 0 = padding; null = all tokens. Throws ShapeError when N exceeds
  /// max_length, or for learned_2d is another number than that of the patches.
  Variable<T> operator()(const Variable<T>& x, const Mask* mask) const;

 private:
  Variable<T> grid() const;

  PositionOptions options_;
  Variable<T> weight_;   // of learned_2d: that of the rows
  Variable<T> columns_;  // of learned_2d
};

}  // namespace xgrad
