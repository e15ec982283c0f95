// Norm: a normalisation of the kind that is asked for.
#pragma once

#include <variant>

#include <xgrad/layers/batch_norm.hpp>
#include <xgrad/layers/layer_norm.hpp>
#include <xgrad/layers/rms_norm.hpp>

namespace xgrad {

/// The kinds of norms.
enum class Normalization { layer, rms, batch };

/// Which norm.
struct NormOptions {
  Normalization kind = Normalization::layer;  ///< the kind
  double eps = 1e-5;                          ///< added to the variance, or to the mean square
};

/// LayerNorm, RmsNorm or BatchNorm, with that layer's parameters: weight, and but for RmsNorm bias.
template <class T>
class Norm {
 public:
  /// Makes its parameters below `scope`.
  Norm(const Scope<T>& scope, std::size_t width, const NormOptions& options);

  /// x (B, N, D), mask (B, N) of the tokens that make a batch's moments, null = all -> (B, N, D)
  Variable<T> operator()(const Variable<T>& x, const std::shared_ptr<const Mask>& mask) const;

 private:
  std::variant<LayerNorm<T>, RmsNorm<T>, BatchNorm<T>> norm_;
};

}  // namespace xgrad
