// Inputs that tests of models share.
#pragma once

#include <memory>
#include <vector>

#include <xgrad/layers/module.hpp>

namespace xgrad::test {

/// (B, tokens): the first lengths[b] of each row are tokens.
inline SharedMask lengths(const std::vector<std::size_t>& lengths, std::size_t tokens) {
  auto mask = std::make_shared<Mask>(empty<std::uint8_t>({lengths.size(), tokens}));
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    for (std::size_t n = 0; n < tokens; ++n) mask->data()[b * tokens + n] = n < lengths[b];
  }
  return mask;
}

/// Keeps the attention weights of a forward pass, and multiplies the outputs of heads by `factors`.
template <class T>
struct HeadObserver final : ActivationTaker<T> {
  bool wants(std::string_view name) const override {
    return name == (factors.empty() ? "weights" : "head_outputs");
  }
  Variable<T> take(const ActivationPlace& place, const Variable<T>& x) override {
    places.push_back(place);
    if (factors.empty()) {
      maps.push_back(x);
      return x;
    }
    Tensor<T> all = empty<T>({x.shape().back()});
    for (std::size_t i = 0; i < all.size(); ++i)
      all(i) = T(factors[i * factors.size() / all.size()]);
    return mul(x, Variable<T>(all));
  }
  Context context() {
    Context result;
    result.activations = this;
    return result;
  }

  std::vector<ActivationPlace> places;
  std::vector<Variable<T>> maps;  ///< (B, H, N, M), one per attention
  std::vector<double> factors;    ///< one per head; empty: keeps the weights
};

/// The attention weights of a layer of self-attention.
template <class T, class Layer>
Variable<T> weights_of(const Layer& layer, const Variable<T>& x) {
  HeadObserver<T> observer;
  layer(x, {}, observer.context());
  return observer.maps.front();
}

}  // namespace xgrad::test
