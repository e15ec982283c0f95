// Embedding: token ids to vectors. InputEmbedding: whatever comes in, as the tokens an encoder
// reads.
#pragma once

#include <optional>

#include <xgrad/layers/linear.hpp>
#include <xgrad/layers/model.hpp>
#include <xgrad/layers/norm.hpp>
#include <xgrad/layers/positions.hpp>

namespace xgrad {

/// weight (V, D), normal with deviation 0.02; ids (B, N) -> (B, N, D). S4.2.
template <class T>
class Embedding {
 public:
  /// Makes its parameter below `scope`.
  Embedding(const Scope<T>& scope, std::size_t vocabulary, std::size_t width);

  /// ids (...) -> (..., D).
  Variable<T> operator()(const Ids& ids) const { return embedding(weight_, ids); }

 private:
  Variable<T> weight_;
};

/// What an InputEmbedding reads.
struct InputOptions {
  std::size_t vocabulary = 0;  ///< of token ids; 0: the input is an image or vectors
  bool one_hot = false;        ///< token ids as one-hot vectors instead of looking rows up
  std::size_t vector = 0;      ///< F, of input vectors; 0: the input is an image or token ids
  std::size_t patch = 0;       ///< side of a patch; must divide the image's height and width
  std::size_t height = 0;      ///< of an image
  std::size_t width = 0;       ///< of an image
  std::size_t channels = 0;    ///< of an image
  std::size_t max_length = 0;  ///< of a row of tokens or vectors
  std::size_t features = 0;    ///< D
  PositionKind positions = PositionKind::learned;  ///< those that are added to tokens
  bool class_token = false;                        ///< prepended at place 0 (S0.2)
  std::optional<NormOptions> norm = std::nullopt;  ///< of the sum, as in BERT
};

/// ids (...) below V -> (..., V): 1 at the id, 0 elsewhere. S4.2.
template <class T>
Tensor<T> one_hot(const Ids& ids, std::size_t vocabulary);

/// [x_class; x_1 E; ...; x_N E] + E_pos (S0.1): (B, N, D), or (B, 1 + N, D) with the class token.
/// Patches, vectors (S2.15, S4.3) and one-hot ids go through a Linear, `patch`, `vector` or
/// `one_hot`; other ids through an Embedding, `token`. With a norm what comes out is norm(that).
template <class T>
class InputEmbedding {
 public:
  /// Makes its parameters below `scope`.
  InputEmbedding(const Scope<T>& scope, const InputOptions& options);

  /// (B, N, D) or (B, 1 + N, D). Throws ShapeError when the input is of another kind or too long.
  Variable<T> operator()(const ModelInput<T>& input) const;
  /// The mask of what operator() returns: that of the input, with a 1 for the class token.
  std::shared_ptr<const Mask> mask(const std::shared_ptr<const Mask>& mask) const;
  /// What each token of operator()'s result may see of them, from ModelInput::adjacency: the class
  /// token sees all and is seen by none, so that a token still knows of its neighbours alone.
  /// Throws ShapeError when there is none.
  std::shared_ptr<const Mask> adjacency(const std::shared_ptr<const Mask>& adjacency) const;

 private:
  Variable<T> embed(const ModelInput<T>& input) const;

  InputOptions options_;
  std::optional<Embedding<T>> token_;
  std::optional<Linear<T>> linear_;
  Variable<T> class_token_;
  Positions<T> positions_;
  std::optional<Norm<T>> norm_;
};

}  // namespace xgrad
