// AttentionObserver: reads the weights of every attention in a forward pass, and may scale its
// heads.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <xgrad/autograd/ops.hpp>

namespace xgrad {

/// Callbacks for attention layers; pass one to a model as Context::attention. `site` identifies the
/// layer: it is the Scope::site() of the MultiHeadAttention.
class AttentionObserver {
 public:
  virtual ~AttentionObserver() = default;
  /// Whether to call on_probabilities(), which needs the map of every head in memory.
  virtual bool wants_probabilities() const { return false; }
  /// Receives the attention weights p (B, H, N, M), before dropout; `query_mask` (B, N), 1 = not
  /// padding, or null; `cross`: the keys are those of another sequence than the queries.
  virtual void on_probabilities(std::uint64_t /*site*/, const Tensor<double>& /*p*/,
                                const Mask* /*query_mask*/, bool /*cross*/) {}
  /// Returns one factor for the output of each head, applied before the output projection. Empty:
  /// no scaling.
  virtual std::vector<double> head_factors(std::uint64_t /*site*/, std::size_t /*heads*/) {
    return {};
  }
};

/// An observer that receives the weights as Variables of the model's scalar type T, so that a loss
/// can depend on them.
template <class T>
class MapObserver : public AttentionObserver {
 public:
  /// Receives the weights (B, H, N, M), before dropout and differentiable; `query_mask` (B, N) or
  /// null.
  virtual void on_maps(const Variable<T>& maps, const Mask* query_mask) = 0;
};

/// One attention of a forward pass.
struct ObservedAttention {
  std::uint64_t site;                ///< Scope::site() of the MultiHeadAttention
  std::size_t heads;                 ///< H
  const Mask* query_mask = nullptr;  ///< as in on_probabilities()
  bool cross = false;                ///< as in on_probabilities()
};

/// Called by MultiHeadAttention. Passes the weights `maps()` (B, H, N, M) to the observer if it
/// wants them, and returns y (B, N, H d_v) with each head scaled by its head_factors().
template <class T>
Variable<T> observe_attention(AttentionObserver& observer, const ObservedAttention& attention,
                              const Variable<T>& y, const std::function<Variable<T>()>& maps);

}  // namespace xgrad
