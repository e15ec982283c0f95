// Initializers of parameters. Linear layers, attention projections and norms start as in PyTorch,
// except that the bias out_proj.bias of attention starts as in a Linear, not at 0. Embeddings,
// learned positions, class tokens and pooling queries start at N(0, 0.02^2).
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
/// U(-b, b), b = sqrt(6 / (fan_in + fan_out)) of a (fan_out, fan_in) matrix. Glorot & Bengio 2010.
Initializer xavier_uniform();
/// N(0, s^2) with s = sqrt(2 / (fan_in + fan_out)).
Initializer xavier_normal();
/// U(-b, b) with b = sqrt(6 / fan_in). He et al. 2015, for ReLU.
Initializer kaiming_uniform();
/// N(0, s^2) with s = sqrt(2 / fan_in).
Initializer kaiming_normal();
/// N(0, std^2); values beyond 2 std are drawn again.
Initializer trunc_normal(double std);
/// A matrix with orthonormal rows or, if it has more rows than columns, orthonormal columns. It is
/// drawn uniformly from all such matrices. Saxe et al. 2014.
Initializer orthogonal();
/// The values of `init`, multiplied by `factor`.
Initializer scaled(Initializer init, double factor);

}  // namespace xgrad::init
