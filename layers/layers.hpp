// The small layers: Linear, Mlp, Norm, Embedding, Pooling and OutputHead.
#pragma once

#include <xgrad/layers/module.hpp>

namespace xgrad {

/// y = x W^T + b, for tokens as rows; for tokens as columns this is y = W x + b. Parameters weight
/// (out, in) and, unless disabled, bias (out), both initially U(-1/sqrt(in), 1/sqrt(in)).
template <class T>
class Linear {
 public:
  /// Makes its parameters. Their names begin with scope.path().
  Linear(const Scope<T>& scope, std::size_t in, std::size_t out, bool bias = true);

  /// x (..., in) -> (..., out).
  Variable<T> operator()(const Variable<T>& x) const { return linear(x, weight_, bias_); }

  const Variable<T>& weight() const { return weight_; }  ///< (out, in)
  const Variable<T>& bias() const { return bias_; }      ///< (out); undefined if disabled

 private:
  Variable<T> weight_;
  Variable<T> bias_;
};

/// The activation function between the two layers of an Mlp. gelu_tanh: GELU's tanh approximation.
enum class Activation { gelu, gelu_tanh, relu, silu };

/// dropout(activation(linear(x))); with GELU, this is one fused op.
template <class T>
Variable<T> activated(const Variable<T>& x, const Linear<T>& linear, Activation activation,
                      const DropoutOptions& dropout);

/// x (..., D) -> (..., D): linear2(dropout(activation(linear1(x)))), hidden width F.
///
/// The dropout after linear2 is not part of Mlp: Residual applies it.
template <class T>
class Mlp {
 public:
  /// Makes its parameters. Their names begin with scope.path().
  Mlp(const Scope<T>& scope, std::size_t width, std::size_t hidden, Activation activation,
      double dropout);

  /// x (..., D) -> (..., D).
  Variable<T> operator()(const Variable<T>& x, const Context& context) const;

 private:
  std::uint64_t id_;          // of the module itself
  std::uint64_t dropout_id_;  // of its dropout
  Linear<T> linear1_;
  Linear<T> linear2_;
  Activation activation_;
  double dropout_;
};

/// The kind of norm.
///
/// layer: gamma (x - mean) / sqrt(var + eps) + beta over the last axis.
///
/// rms: gamma x / sqrt(mean(x^2) + eps) over the last axis. Zhang & Sennrich 2019.
///
/// batch: the formula of layer, but with mean and variance of each feature over all unmasked tokens
/// of the batch (Ioffe & Szegedy 2015). Evaluation uses the statistics of its batch too, as
/// PyTorch's nn.BatchNorm1d(track_running_stats=False) does, so the result for a sample depends on
/// the other samples of the batch.
enum class Normalization { layer, rms, batch };

/// Options of a Norm.
struct NormOptions {
  Normalization kind = Normalization::layer;  ///< kind of norm
  double eps = 1e-5;                          ///< added to the variance, or to the mean square
};

/// A norm with its parameters: weight (D), initially 1, and bias (D), initially 0; RMS norm has no
/// bias. Weight decay does not apply to these parameters.
template <class T>
class Norm {
 public:
  /// Makes its parameters. Their names begin with scope.path().
  Norm(const Scope<T>& scope, std::size_t width, const NormOptions& options = {});

  /// x (..., D) -> (..., D). mask (...): 1 = a token, 0 = padding; null = all tokens. Only
  /// batch norm reads the mask; its result for padding is 0.
  Variable<T> operator()(const Variable<T>& x, const SharedMask& mask = nullptr) const;

 private:
  NormOptions options_;
  Variable<T> weight_, bias_;
};

/// A learned vector for each token id. Parameter weight (V, D), initially N(0, 0.02^2).
template <class T>
class Embedding {
 public:
  /// Makes its parameter. Its name begins with scope.path(). Throws ConfigError if the vocabulary
  /// is empty. It is empty for tasks with inputs other than token ids.
  Embedding(const Scope<T>& scope, std::size_t vocabulary, std::size_t width);

  /// ids (...) -> (..., D).
  Variable<T> operator()(const Ids& ids) const { return embedding(weight_, ids); }

 private:
  Variable<T> weight_;
};

/// Input of the output head. none: every token. cls: the class token. mean, max and attention
/// reduce the unmasked tokens to one vector: the mean, the maximum of each feature, or the result
/// of attention with a learned query.
enum class Pool { none, cls, mean, max, attention };

/// x (B, N, D) -> (B, D), or x itself for Pool::none. Attention pooling is
///
///     sum_n softmax_n(q . x_n / sqrt(D)) x_n
///
/// with the parameter `query`, q (D), initially N(0, 0.02^2).
template <class T>
class Pooling {
 public:
  /// Makes its parameter, if it has one. Its name begins with scope.path().
  Pooling(const Scope<T>& scope, Pool kind, std::size_t width);

  /// `mask` (B, N): 1 = a token; null = all.
  Variable<T> operator()(const Variable<T>& x, const SharedMask& mask) const;

 private:
  Pool kind_;
  Variable<T> query_;
};

/// The last layer of a model: x (..., D) -> logits (..., classes), a Linear or, with `stablemax`,
/// symlog of a Linear. The softmax of such logits is StableMax, which approaches 1 more slowly than
/// softmax without symlog (Prieto et al. 2025).
template <class T>
class OutputHead {
 public:
  /// Makes the parameters of the Linear. Their names begin with scope.path().
  OutputHead(const Scope<T>& scope, std::size_t width, std::size_t classes, bool stablemax)
      : linear_(scope, width, classes), stablemax_(stablemax) {}

  /// x (..., D) -> (..., classes).
  Variable<T> operator()(const Variable<T>& x) const {
    return stablemax_ ? symlog(linear_(x)) : linear_(x);
  }

 private:
  Linear<T> linear_;
  bool stablemax_;
};

}  // namespace xgrad
