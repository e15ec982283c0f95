// The plane in which the token embeddings of a model differ most, for report.html.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include <xgrad/data/task.hpp>

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

namespace html {

/// The embeddings (V, D) of all tokens, each a point and a name. Empty if there are fewer than
/// three tokens or two features, or no LAPACK. If inputs are tokens, targets classes, and classes
/// no more than colours, a token has the colour of the class that goes with it most often in the
/// examples, the first of equal ones: that of its own target, or that of the sequence at all
/// tokens.
std::string embeddings_section(const Tensor<double>& embeddings, const TaskShape& shape,
                               const Dataset& examples);

}  // namespace html

}  // namespace xgrad
