// AttentionMetrics: describes attention maps. HeadDiversity: a loss that makes heads differ.
#pragma once

#include <vector>

#include <xgrad/layers/module.hpp>

namespace xgrad {

/// Metrics of the attention maps A of one layer. Entropy and distance are means over queries;
/// asymmetry and redundancy are means over samples, with Frobenius norms:
///
///     entropy     -sum_j a_ij ln a_ij, in nats
///     distance    sum_j a_ij |i - j|, in tokens; in cross-attention, i and j are positions in
///                 two different sequences
///     asymmetry   |A - A^T| / (sqrt(2) |A|), from 0 to 1; 0 in cross-attention
///     redundancy  <A_g, A_h> / (|A_g| |A_h|) of two heads g and h: 1 when their maps are equal, 0
///                 when they share no key
class AttentionMetrics {
 public:
  /// Adds the maps of a batch. p (B, H, N, M): rows of probabilities; `mask` (B, N): 1 = count the
  /// query; null = count all; `cross`: the keys come from another sequence. Throws ShapeError when
  /// shapes do not fit or H changes between calls.
  void add(const Tensor<double>& p, const SharedMask& mask, bool cross = false);

  /// The number of heads; 0 before the first add().
  std::size_t heads() const { return sums_.size(); }
  /// Mean entropy of a head, in nats.
  double entropy(std::size_t head) const { return ratio(sums_.at(head).entropy, queries_); }
  /// Mean distance of a head, in tokens.
  double distance(std::size_t head) const { return ratio(sums_.at(head).distance, queries_); }
  /// Mean asymmetry of a head.
  double asymmetry(std::size_t head) const { return ratio(sums_.at(head).asymmetry, samples_); }
  /// Mean redundancy of two heads.
  double redundancy(std::size_t g, std::size_t h) const {
    return ratio(sums_.at(g).redundancy.at(h), samples_);
  }

 private:
  struct Sums {
    double entropy = 0, distance = 0, asymmetry = 0;
    std::vector<double> redundancy;
  };
  static double ratio(double x, double n) { return n == 0 ? 0 : x / n; }
  void add_sample(const Tensor<double>& maps, const Tensor<double>& counts, bool cross);

  std::vector<Sums> sums_;
  double queries_ = 0, samples_ = 0;
};

/// The mean of cos^2 over the batch and over all pairs of different heads, shape (). cos is the
/// cosine between the maps of the two heads, read as vectors. The penalty is 0 for orthogonal maps
/// and 1 for identical maps. A map of zeros is orthogonal to every map.
///
/// maps (B, H, N, M) are attention weights, H >= 2; `mask` (B, N): 1 = count the query; null =
/// count all. Throws ShapeError when shapes do not fit. Based on the penalty of Lin et al. 2017.
template <class T>
Variable<T> head_diversity_penalty(const Variable<T>& maps, const SharedMask& mask = nullptr);

/// Pass a HeadDiversity as Context::activations: it collects the penalties of all attention layers
/// in a forward pass.
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
