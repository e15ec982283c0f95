// AttentionObserver: looks into every attention of a forward pass, and may silence heads.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <xgrad/autograd/ops.hpp>

namespace xgrad {

/// Given to a model as Context::attention. A `site` is Scope::site() of a MultiHeadAttention.
class AttentionObserver {
 public:
  virtual ~AttentionObserver() = default;
  /// Whether on_probabilities() is to be called, which costs a map of every head.
  virtual bool wants_probabilities() const { return false; }
  /// What each query takes from each key, (B, H, N, M), before dropout; `key_mask` (B, M) or null.
  virtual void on_probabilities(std::uint64_t /*site*/, const Tensor<double>& /*p*/,
                                const Mask* /*key_mask*/) {}
  /// One factor for what comes out of each head, before the output projection; empty: all are 1.
  virtual std::vector<double> head_factors(std::uint64_t /*site*/, std::size_t /*heads*/) {
    return {};
  }
};

/// An observer that takes the weights of a model of T themselves, so that a loss can be made of
/// them.
template <class T>
class MapObserver : public AttentionObserver {
 public:
  /// The weights (B, H, N, M), before dropout: stored and differentiable; `key_mask` (B, M) or
  /// null.
  virtual void on_maps(const Variable<T>& maps, const Mask* key_mask) = 0;
};

/// What a MultiHeadAttention calls: shows the observer `maps()`, the weights (B, H, N, M), where it
/// wants them, and returns y (B, N, H d_v) with its heads scaled as the observer asks.
template <class T>
Variable<T> observe_attention(AttentionObserver& observer, std::uint64_t site, const Variable<T>& y,
                              const Attention& how, const std::function<Variable<T>()>& maps);

}  // namespace xgrad
