// Attention out of plain ops, which stores everything.
#pragma once

#include <cmath>
#include <limits>

#include <xgrad/autograd/ops.hpp>

#include "support/tensors.hpp"

namespace xgrad::test {

/// Whether query i of sample b may attend to key j.
inline bool sees(const AttentionOptions& options, std::size_t b, std::size_t i, std::size_t j) {
  return (!options.masks.key_mask || (*options.masks.key_mask)(b, j)) &&
         (!options.masks.mask || (*options.masks.mask)(b, i, j)) && (!options.causal || j <= i) &&
         (!options.exclude_self || i != j);
}

/// Head h of attention(q, k, v, options, bias), given that head of q, k, v and bias (B, N, M).
/// Every query sees a key.
inline Variable<double> explicit_head(const Variable<double>& q, const Variable<double>& k,
                                      const Variable<double>& v, const AttentionOptions& options,
                                      std::size_t h, const Variable<double>& head_bias = {}) {
  const std::size_t batch = q.shape()[0], n = q.shape()[1], m = k.shape()[1];
  Tensor<double> bias = zeros<double>({batch, n, m}), factors = full({batch, n, m}, 1.0);
  for (std::size_t b = 0; b < batch; ++b) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < m; ++j) {
        if (!sees(options, b, i, j)) bias(b, i, j) = -std::numeric_limits<double>::infinity();
      }
      if (options.dropout.p == 0) continue;
      dropout_factors(*options.dropout.rng, options.dropout.p,
                      options.dropout.first_sample + std::uint32_t(b), std::uint32_t(h),
                      std::uint32_t(i), m, &factors(b, i, 0));
    }
  }
  const double c = options.scale.value_or(1 / std::sqrt(double(q.shape()[2])));
  auto scores = add(scale(matmul(q, k, false, true), c), Variable<double>(bias));
  if (head_bias.defined()) scores = add(scores, head_bias);
  return matmul(mul(softmax(scores), Variable<double>(factors)), v);
}

}  // namespace xgrad::test
