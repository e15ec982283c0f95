// WindowMlp: the baselines without attention, an MLP on each token, alone or with its neighbours.
#pragma once

#include <vector>

#include <xgrad/layers/embedding.hpp>
#include <xgrad/layers/mlp.hpp>
#include <xgrad/layers/pooling.hpp>

namespace xgrad {

/// What a WindowMlp is made of.
struct WindowMlpOptions {
  InputOptions input = {};  ///< its tokens or vectors; features follow from the rest
  std::size_t window = 1;   ///< tokens that are read together, odd; 1: each token alone (S4.9)
  std::size_t layers = 1;   ///< hidden ones
  std::size_t hidden = 0;   ///< F
  Activation activation = Activation::gelu;  ///< after each hidden layer
  double dropout = 0;                        ///< after each hidden layer
  Pool pool = Pool::none;   ///< what makes one vector of a sequence; none: a target for each token
  std::size_t classes = 0;  ///< V, of the output
};

/// h_n = f(... f([x_(n-w) ... x_n ... x_(n+w)] W_0^T + b_0) ...), window 2 w + 1, x 0 outside of
/// the sequence and where padded; logits are the head's of h, or of pooled h (S4.10).
///
/// Parameters under embedding, layers, pool and head.
template <class T>
class WindowMlp final : public SequenceModel<T> {
 public:
  /// Throws ShapeError when the window is even, or the pool is the class token, which no other
  /// token could tell anything.
  WindowMlp(const Scope<T>& root, const WindowMlpOptions& options);

  /// Throws ShapeError when the input does not fit.
  Variable<T> operator()(const ModelInput<T>& input, const Context& context) const override;

 private:
  WindowMlpOptions options_;
  InputEmbedding<T> embedding_;
  std::vector<Linear<T>> layers_;
  std::vector<std::uint64_t> sites_;  // of each layer's dropout
  Pooling<T> pool_;
  Linear<T> head_;
};

}  // namespace xgrad
