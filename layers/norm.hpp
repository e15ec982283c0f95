// Norm: a normalisation of the kind that is asked for.
#pragma once

#include <variant>

#include <xgrad/layers/batch_norm.hpp>
#include <xgrad/layers/layer_norm.hpp>
#include <xgrad/layers/rms_norm.hpp>

namespace xgrad {

enum class Normalization { layer, rms, batch };

struct NormOptions {
  Normalization kind = Normalization::layer;
  double eps = 1e-5;
};

/// LayerNorm, RmsNorm or BatchNorm, with that layer's parameters: weight, and but for RmsNorm bias.
template <class T>
class Norm {
 public:
  Norm(const Scope<T>& scope, std::size_t width, const NormOptions& options);

  /// x (B, N, D), mask (B, N) of the tokens that make a batch's moments, null = all -> (B, N, D)
  Variable<T> operator()(const Variable<T>& x, const std::shared_ptr<const Mask>& mask) const;

 private:
  std::variant<LayerNorm<T>, RmsNorm<T>, BatchNorm<T>> norm_;
};

}  // namespace xgrad
