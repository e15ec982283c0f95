// InputEmbedding: turns token ids, vectors or images into the tokens that an encoder reads.
#pragma once

#include <optional>

#include <xgrad/layers/layers.hpp>
#include <xgrad/layers/model.hpp>
#include <xgrad/layers/positions.hpp>

namespace xgrad {

/// Cuts images into patches of P x P pixels: x (B, H, W, C) -> (B, (H/P)(W/P), P P C). Patches are
/// in row-major order, and so are the pixels of a patch. With `overlap` = O, a patch has O extra
/// pixels on each side, which are 0 beyond the image. Its side is then S = P + 2 O, and the result
/// is (B, (H/P)(W/P), S S C): the inputs of a convolution with kernel S, stride P and padding O.
/// Throws ShapeError when P does not divide H and W.
template <class T>
Tensor<T> patchify(const Tensor<T>& x, std::size_t patch, std::size_t overlap = 0);

/// The inverse of patchify() without overlap: assembles patches into images of `height` x `width`
/// pixels, (B, H, W, C).
template <class T>
Tensor<T> unpatchify(const Tensor<T>& x, std::size_t patch, std::size_t height, std::size_t width);

/// The kind and sizes of the input of an InputEmbedding.
struct InputOptions {
  std::size_t vocabulary = 0;  ///< V, number of token ids; 0: the input is an image or vectors
  bool one_hot = false;        ///< reads token ids through one-hot vectors and a Linear
  std::size_t vector = 0;      ///< F, size of input vectors; 0: the input is an image or token ids
  std::size_t patch = 0;       ///< P, side of a patch in pixels; must divide height and width
  std::size_t overlap = 0;     ///< O, extra pixels on each side of a patch
  std::size_t height = 0;      ///< height of an image in pixels
  std::size_t width = 0;       ///< width of an image in pixels
  std::size_t channels = 0;    ///< channels of an image
  std::size_t max_length = 0;  ///< longest sequence of token ids or vectors
  std::size_t features = 0;    ///< D, width of an embedded token
  PositionKind positions = PositionKind::learned;  ///< kinds that act in attention have no effect
  bool class_token = false;                        ///< prepends a class token
  std::optional<NormOptions> norm = std::nullopt;  ///< norm after adding positions, as in BERT
};

/// ids (...) -> (..., V): 1 at the id, 0 elsewhere. Throws ShapeError when an id is not in [0, V).
template <class T>
Tensor<T> one_hot(const Ids& ids, std::size_t vocabulary);

/// Computes [x_class; x_1 E; ...; x_N E] + E_pos, and then the norm if there is one. Patches,
/// vectors and one-hot ids go through a Linear named `patch`, `vector` or `one_hot`; other ids go
/// through an Embedding named `token`.
template <class T>
class InputEmbedding {
 public:
  /// Makes its parameters. Their names begin with scope.path().
  InputEmbedding(const Scope<T>& scope, const InputOptions& options);

  /// The embedded input: (B, N, D), or (B, 1 + N, D) with a class token. The first token of the
  /// result has the position `first`. Throws ShapeError when the input is not of the kind that the
  /// options describe, or has more tokens than the positions allow (see Positions).
  Variable<T> operator()(const ModelInput<T>& input, std::size_t first = 0) const;
  /// The mask of operator()'s result: the input's mask, preceded by a 1 for the class token.
  SharedMask mask(const SharedMask& mask) const;
  /// The attention mask of operator()'s result, from ModelInput::adjacency. The class token sees
  /// every token, and no other token sees it, so that information flows between neighbours
  /// only. Throws ShapeError when `adjacency` is null.
  SharedMask adjacency(const SharedMask& adjacency) const;

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
