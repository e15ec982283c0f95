// A loss that drives the heads of an attention apart.
#pragma once

#include <xgrad/autograd/ops.hpp>

namespace xgrad {

/// The mean of cos^2 over the batch and the pairs of different heads, shape (), where cos is the
/// cosine between their maps as vectors: 0 for orthogonal maps and largest, 1, for identical ones;
/// maps (B, H, N, M), as MultiHeadAttention::weights() gives them, H >= 2. S2.14, after the penalty
/// of Lin et al. 2017. A map of zeros counts as orthogonal to all.
template <class T>
Variable<T> head_diversity_penalty(const Variable<T>& maps);

}  // namespace xgrad
