// The global gradient norm, for clipping and for detecting NaN.
#pragma once

#include <xgrad/autograd/parameters.hpp>

namespace xgrad {

/// The Euclidean norm of all gradients together. Parameters without a gradient do not count.
///
/// Sums in double over fixed blocks, added in order, so the bits do not depend on the number of
/// threads.
template <class T>
double global_norm(const Parameters<T>& parameters);

/// Returns min(1, max_norm / (norm + 1e-6)), as torch.nn.utils.clip_grad_norm_; 1 when max_norm is
/// 0, which means no clipping. Throws NumericError when an argument is negative or NaN.
double clip_factor(double norm, double max_norm);

/// Returns the first parameter with a value that is infinite or NaN; nullptr if there is none.
/// Reads the bits, so no compiler flag can remove the test.
template <class T>
const Parameter<T>* first_not_finite(const Parameters<T>& parameters);

}  // namespace xgrad
