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

/// Token embeddings in the plane of their first two principal components.
struct EmbeddingMap {
  Projection projection;             ///< of the first tokens of the vocabulary
  std::size_t vocabulary = 0;        ///< number of all tokens
  std::vector<std::string> tokens;   ///< their names
  std::vector<std::size_t> colours;  ///< a colour per token, below html::kColors
  /// Names of the classes that the colours stand for; empty if colours only tell tokens apart.
  std::vector<std::string> classes;
};

/// Maps the embeddings (V, D) of all tokens. Empty if there are fewer than three tokens or two
/// features, or no LAPACK. If inputs are tokens, targets classes, and classes no more than colours,
/// a token has the colour of the class that goes with it most often in the examples, the first of
/// equal ones: that of its own target, or that of the sequence at all tokens.
std::optional<EmbeddingMap> map_embeddings(const Tensor<double>& embeddings, const TaskShape& shape,
                                           const Dataset& examples);

namespace html {

/// A point and a name for each token.
std::string embeddings_section(const EmbeddingMap& map);

}  // namespace html

}  // namespace xgrad
