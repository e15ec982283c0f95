// WindowMlp: a baseline without attention, an MLP on each token and its neighbours.
#pragma once

#include <vector>

#include <xgrad/layers/embedding.hpp>
#include <xgrad/layers/mlp.hpp>
#include <xgrad/layers/pooling.hpp>

namespace xgrad {

/// Sizes and settings of a WindowMlp.
struct WindowMlpOptions {
  InputOptions input = {};                   ///< input, whose `features` is D
  std::size_t window = 1;                    ///< tokens read together, odd; 1: each token alone
  std::size_t layers = 1;                    ///< hidden layers
  std::size_t hidden = 0;                    ///< F, width of a hidden layer
  Activation activation = Activation::gelu;  ///< after each hidden layer
  double dropout = 0;                        ///< dropout rate after each hidden layer
  Pool pool = Pool::none;   ///< reduces a sequence to one vector; none: logits per token
  std::size_t classes = 0;  ///< output classes
};

/// Computes h_n = f(... f([x_(n-w) ... x_n ... x_(n+w)] W_0^T + b_0) ...) with a window of 2 w + 1
/// tokens, where x is 0 outside the sequence and at padding. The head turns h, or pooled h, into
/// logits.
///
/// Parameters under embedding, layers, pool and head.
template <class T>
class WindowMlp final : public SequenceModel<T> {
 public:
  /// Makes its parameters below `root`. Throws ShapeError when the window is even, or for
  /// Pool::cls, since a class token would see no other token.
  WindowMlp(const Scope<T>& root, const WindowMlpOptions& options);

  /// Throws ShapeError when the input does not fit.
  Variable<T> operator()(const ModelInput<T>& input, const Context& context) const override;

 private:
  WindowMlpOptions options_;
  InputEmbedding<T> embedding_;
  std::vector<Linear<T>> layers_;
  std::vector<std::uint64_t> ids_;  // Scope::id() of each layer, for its dropout
  Pooling<T> pool_;
  Linear<T> head_;
};

}  // namespace xgrad
