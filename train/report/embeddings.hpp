// The plane in which the token embeddings of a model differ most, for report.html.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <xgrad/data/task.hpp>
#include <xgrad/train/inspect/principal_components.hpp>

namespace xgrad {

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
/// a token has the colour of the class that goes with it most often in the first `count` examples,
/// the first of equal ones: that of its own target, or that of the sequence at all tokens.
std::optional<EmbeddingMap> map_embeddings(const Tensor<double>& embeddings, const TaskShape& shape,
                                           const Dataset& examples, std::size_t count);

namespace html {

/// A point and a name for each token.
std::string embeddings_section(const EmbeddingMap& map);

}  // namespace html

}  // namespace xgrad
