// Norm: a normalisation of the kind that is asked for.
#pragma once

#include <variant>

#include <xgrad/layers/layer_norm.hpp>
#include <xgrad/layers/rms_norm.hpp>

namespace xgrad {

enum class Normalization { layer, rms };

struct NormOptions {
  Normalization kind = Normalization::layer;
  double eps = 1e-5;
};

/// LayerNorm or RmsNorm, with that layer's parameters: weight, and for LayerNorm bias.
template <class T>
class Norm {
 public:
  Norm(const Scope<T>& scope, std::size_t width, const NormOptions& options);

  Variable<T> operator()(const Variable<T>& x) const;

 private:
  std::variant<LayerNorm<T>, RmsNorm<T>> norm_;
};

}  // namespace xgrad
