// AttentionMetrics: entropy, distance, asymmetry and redundancy of attention heads.
#pragma once

#include <vector>

#include <xgrad/autograd/tensor.hpp>

namespace xgrad {

/// Metrics of the attention maps A of one layer. Entropy and distance are means over queries;
/// asymmetry and redundancy are means over samples, with Frobenius norms:
///
///     entropy     -sum_j a_ij ln a_ij, in nats
///     distance    sum_j a_ij |i - j|, in tokens; in cross-attention, of places in two sequences
///     asymmetry   |A - A^T| / (sqrt(2) |A|), from 0 to 1; 0 in cross-attention
///     redundancy  <A_g, A_h> / (|A_g| |A_h|) of two heads g and h: 1 when their maps are equal, 0
///                 when they share no key
class AttentionMetrics {
 public:
  /// Adds the maps of a batch. p (B, H, N, M): rows of probabilities; `mask` (B, N): 1 = count the
  /// query; null = count all; `cross`: the keys are those of another sequence. Throws ShapeError
  /// when shapes do not fit or H changes between calls.
  void add(const Tensor<double>& p, const SharedMask& mask, bool cross = false);

  /// H; 0 before the first add().
  std::size_t heads() const { return sums_.size(); }
  /// Mean entropy of a head, in nats.
  double entropy(std::size_t head) const;
  /// Mean distance of a head, in tokens.
  double distance(std::size_t head) const;
  /// Mean asymmetry of a head.
  double asymmetry(std::size_t head) const;
  /// Mean redundancy of two heads.
  double redundancy(std::size_t g, std::size_t h) const;

 private:
  struct Sums {
    double entropy = 0, distance = 0, asymmetry = 0;
    std::vector<double> redundancy;
  };
  void add_sample(const Tensor<double>& maps, const Tensor<double>& counts, bool cross);

  std::vector<Sums> sums_;
  double queries_ = 0, samples_ = 0;
};

}  // namespace xgrad
