// A loss that drives the heads of an attention apart.
#pragma once

#include <vector>

#include <xgrad/layers/attention_observer.hpp>

namespace xgrad {

/// The mean of cos^2 over the batch and the pairs of different heads, shape (), where cos is the
/// cosine between their maps as vectors: 0 for orthogonal maps and largest, 1, for identical ones;
/// maps (B, H, N, M), as MultiHeadAttention::weights() gives them, H >= 2; `mask` (B, N) or null:
/// the queries that count. S2.14, after the penalty of Lin et al. 2017. A map of zeros counts as
/// orthogonal to all. Throws ShapeError.
template <class T>
Variable<T> head_diversity_penalty(const Variable<T>& maps, const Mask* mask = nullptr);

/// As Context::attention of a forward pass, takes the penalty of every self-attention that it is
/// shown.
template <class T>
class HeadDiversity final : public MapObserver<T> {
 public:
  void on_maps(const Variable<T>& maps, const Mask* key_mask) override {
    penalties_.push_back(head_diversity_penalty(maps, key_mask));
  }
  /// Their mean, shape (). Throws ShapeError where there was none.
  Variable<T> mean() const;

 private:
  std::vector<Variable<T>> penalties_;
};

}  // namespace xgrad
