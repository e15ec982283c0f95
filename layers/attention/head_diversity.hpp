// A loss that makes the heads of an attention layer attend to different tokens.
#pragma once

#include <vector>

#include <xgrad/layers/attention/observer.hpp>

namespace xgrad {

/// The mean of cos^2 over the batch and over all pairs of different heads, shape (). cos is the
/// cosine between the two heads' maps, read as vectors, so the penalty is 0 for orthogonal maps and
/// 1 for identical ones. A map of zeros is orthogonal to every map.
///
/// maps (B, H, N, M) from MultiHeadAttention::weights(), H >= 2; `mask` (B, N): 1 = count the
/// query; null = count all. Throws ShapeError when the shapes do not fit. S2.14, after the penalty
/// of Lin et al. 2017.
template <class T>
Variable<T> head_diversity_penalty(const Variable<T>& maps, const Mask* mask = nullptr);

/// Collects the penalty of every attention layer in a forward pass when it is passed as
/// Context::attention.
template <class T>
class HeadDiversity final : public MapObserver<T> {
 public:
  void on_maps(const Variable<T>& maps, const Mask* query_mask) override {
    penalties_.push_back(head_diversity_penalty(maps, query_mask));
  }
  /// The mean of the collected penalties, shape (). Throws ShapeError when there are none.
  Variable<T> mean() const;

 private:
  std::vector<Variable<T>> penalties_;
};

}  // namespace xgrad
