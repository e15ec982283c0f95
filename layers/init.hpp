// Initializers of parameters. Linear layers, attention projections and norms start as in PyTorch;
// embeddings, learned positions, class tokens and pooling queries start at N(0, 0.02^2).
#pragma once

#include <xgrad/autograd/parameters.hpp>

namespace xgrad::init {

Initializer constant(double value);
inline Initializer zeros() {
  return constant(0);
}
inline Initializer ones() {
  return constant(1);
}

/// N(0, std^2)
Initializer normal(double std);
/// U(-bound, bound)
Initializer uniform(double bound);
/// U(-b, b) with b = sqrt(6 / (fan_in + fan_out)) of a (fan_out, fan_in) matrix. Glorot & Bengio
/// 2010.
Initializer xavier_uniform();

}  // namespace xgrad::init
