// Attention out of plain ops, which stores everything.
#pragma once

#include <cmath>
#include <limits>

#include <xgrad/autograd/ops.hpp>

#include "support/tensors.hpp"

namespace xgrad::test {

/// Head h of attention(q, k, v, options), given that head of q, k and v.
inline Variable<double> explicit_head(const Variable<double>& q, const Variable<double>& k,
                                      const Variable<double>& v, const Attention& options,
                                      std::size_t h) {
  const std::size_t batch = q.shape()[0], n = q.shape()[1], m = k.shape()[1];
  Tensor<double> bias = zeros<double>({batch, n, m}), factors = full({batch, n, m}, 1.0);
  for (std::size_t b = 0; b < batch; ++b) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; options.key_mask && j < m; ++j) {
        if (!(*options.key_mask)(b, j)) bias(b, i, j) = -std::numeric_limits<double>::infinity();
      }
      dropout_factors(options.dropout.rng, options.dropout.p,
                      options.dropout.first_sample + std::uint32_t(b), std::uint32_t(h),
                      std::uint32_t(i), m, &factors(b, i, 0));
    }
  }
  const double c = options.scale.value_or(1 / std::sqrt(double(q.shape()[2])));
  const auto scores = add(scale(matmul(q, k, false, true), c), Variable<double>(bias));
  return matmul(mul(softmax(scores), Variable<double>(factors)), v);
}

}  // namespace xgrad::test
