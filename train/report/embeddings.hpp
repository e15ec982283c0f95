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

/// Counts which class goes with each token.
class TokenClasses {
 public:
  /// Counts nothing unless inputs are tokens, targets classes, and classes no more than colours.
  explicit TokenClasses(const TaskShape& shape);
  /// Counts the targets of an example: each at its token, or that of the sequence at all tokens.
  void add(const Example& example);
  /// Maps the embeddings (V, D) of all tokens. Empty if there are fewer than three tokens or two
  /// features, or no LAPACK. A token's class is that which goes with it most often; the first of
  /// equal ones.
  std::optional<EmbeddingMap> map(const Tensor<double>& embeddings) const;

 private:
  TaskShape shape_;
  std::size_t tokens_;               // those that are drawn
  std::vector<std::size_t> counts_;  // (tokens, classes); empty if colours are not by class
};

namespace html {

/// A point and a name for each token.
std::string embeddings_section(const EmbeddingMap& map);

}  // namespace html

}  // namespace xgrad
