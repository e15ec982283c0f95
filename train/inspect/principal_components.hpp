// Principal component analysis: the plane in which points differ most.
#pragma once

#include <array>
#include <optional>

#include <xgrad/autograd/tensor.hpp>

namespace xgrad {

/// Points in the plane of their first two principal components.
struct Projection {
  Tensor<double> points;            ///< (V, 2), relative to the mean of all points
  std::array<double, 2> explained;  ///< fraction of the variance along each component
};

/// Projects V points x (V, D) onto the first two eigenvectors of their covariance. Each eigenvector
/// has a positive component of largest size. All is 0 where points do not differ. Returns nothing
/// if the system has no liblapack.so.3, or a limit leaves less than 256 MiB of memory for it.
/// Throws ShapeError unless x is a matrix with D >= 2 and V >= 1.
std::optional<Projection> principal_components(const Tensor<double>& x);

}  // namespace xgrad
