// Convention: converts a linear map as a paper writes it to the matrix that Linear stores.
#pragma once

#include <xgrad/autograd/tensor.hpp>

namespace xgrad {

/// How a source writes a linear map. row: tokens are rows, y = x W with W (in, out), as in most
/// papers and S3. column: tokens are columns, y = W x with W (out, in), as in the lectures of
/// S4.18.
enum class Convention { row, column };

/// The weight (out, in) with which a Linear, or a part of in_proj_weight, computes the same map as
/// W: W^T for row, W for column. Throws ShapeError when W is not a matrix.
template <class T>
Tensor<T> linear_weight(const Tensor<T>& w, Convention convention);

}  // namespace xgrad
