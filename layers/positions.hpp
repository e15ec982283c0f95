// Positions: what tells tokens apart by their place.
#pragma once

#include <xgrad/layers/module.hpp>

namespace xgrad {

enum class PositionKind { none, learned, sinusoidal };

/// (max_length, D): PE(p, 2i) = sin(p / 10000^(2i/D)), PE(p, 2i+1) = cos(p / 10000^(2i/D)). Vaswani
/// et al. 2017.
template <class T>
Tensor<T> sinusoidal_positions(std::size_t max_length, std::size_t width);

/// Adds a vector per place: x (B, N, D) + P[0 ... N-1]; `weight` (max_length, D) is learned
/// (normal, 0.02) or fixed.
template <class T>
class Positions {
 public:
  Positions(const Scope<T>& scope, PositionKind kind, std::size_t max_length, std::size_t width);

  /// Throws ShapeError when N exceeds max_length.
  Variable<T> operator()(const Variable<T>& x) const;

 private:
  Variable<T> weight_;  // none: undefined
};

}  // namespace xgrad
