// A loss that makes the heads of an attention layer attend to different tokens.
#pragma once

#include <vector>

#include <xgrad/layers/activations.hpp>

namespace xgrad {

/// The mean of cos^2 over the batch and over all pairs of different heads, shape (). cos is the
/// cosine between the two heads' maps, read as vectors, so the penalty is 0 for orthogonal maps and
/// 1 for identical ones. A map of zeros is orthogonal to every map.
///
/// maps (B, H, N, M) are attention weights, H >= 2; `mask` (B, N): 1 = count the
/// query; null = count all. Throws ShapeError when the shapes do not fit. After the penalty
/// of Lin et al. 2017.
template <class T>
Variable<T> head_diversity_penalty(const Variable<T>& maps, const SharedMask& mask = nullptr);

/// Collects the penalty of every attention layer in a forward pass when it is passed as
/// Context::activations.
template <class T>
class HeadDiversity final : public ActivationTaker<T> {
 public:
  bool wants(std::string_view name) const override { return name == "weights"; }
  Variable<T> take(const ActivationPlace& place, const Variable<T>& maps) override {
    penalties_.push_back(head_diversity_penalty(maps, place.query_mask));
    return maps;
  }
  /// The mean of the collected penalties, shape (). Throws ShapeError when there are none.
  Variable<T> mean() const;

 private:
  std::vector<Variable<T>> penalties_;
};

}  // namespace xgrad
