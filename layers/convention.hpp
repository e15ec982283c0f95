// Convention: how a source writes a linear map, and as which matrix Linear stores it.
#pragma once

#include <xgrad/autograd/tensor.hpp>

namespace xgrad {

/// row: tokens are rows, y = x W with W (in, out), as most papers and S3 write. column: tokens are
/// columns, y = W x with W (out, in), as the lectures of S4.18 do.
enum class Convention { row, column };

/// The weight (out, in) of Linear or of a part of in_proj_weight that computes what W does in its
/// convention: W^T for row, W itself for column. Throws ShapeError when W is not a matrix.
template <class T>
Tensor<T> linear_weight(const Tensor<T>& w, Convention convention);

}  // namespace xgrad
