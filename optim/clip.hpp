// The global gradient norm, for clipping and for detecting NaN.
#pragma once

#include <vector>

#include <xgrad/autograd/parameters.hpp>
#include <xgrad/optim/flat_parameters.hpp>

namespace xgrad {

/// The sums of squares of the gradients, in double, over blocks of 8192 scalars: those of a part of
/// the parameters that have a gradient.
template <class T>
std::vector<double> sums_of_squares(const Parameters<T>& parameters, const ModelPart& part = {});

/// The square root of the sum of `sums`, added in their order.
double norm_of(const std::vector<double>& sums);

/// The Euclidean norm of all gradients together. Parameters without a gradient do not count.
///
/// It is norm_of(sums_of_squares(parameters)), so the bits do not depend on the number of threads.
template <class T>
double global_norm(const Parameters<T>& parameters);

/// Returns min(1, max_norm / (norm + 1e-6)), as torch.nn.utils.clip_grad_norm_; 1 when max_norm is
/// 0, which means no clipping. Throws NumericError when an argument is negative or NaN.
double clip_factor(double norm, double max_norm);

/// Limits each element of the gradients of a part of the parameters to [-most, most], as
/// torch.nn.utils.clip_grad_value_. Parameters without a gradient stay as they are.
template <class T>
void clip_values(const Parameters<T>& parameters, double most, const ModelPart& part = {});

/// Returns the first parameter with a value that is infinite or NaN; nullptr if there is none.
/// Reads the bits, so no compiler flag can remove the test.
template <class T>
const Parameter<T>* first_not_finite(const Parameters<T>& parameters);

}  // namespace xgrad
