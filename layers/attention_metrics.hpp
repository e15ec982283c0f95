// AttentionMetrics: what attention maps say of the heads that made them.
#pragma once

#include <vector>

#include <xgrad/autograd/tensor.hpp>

namespace xgrad {

/// Means over samples, or over all queries, of the maps A of one layer:
///
///     entropy     -sum_j a_ij ln a_ij, nats, of a query
///     distance    sum_j a_ij |i - j|, of a query
///     asymmetry   |A - A^T| / (sqrt(2) |A|), Frobenius, from 0 to 1 (S2.13); 0 where A is not
///     square redundancy  <A_g, A_h> / (|A_g| |A_h|) of the heads g and h: 1 when equal, 0 when
///     they share
///                 no key (S2.14)
class AttentionMetrics {
 public:
  /// p (B, H, N, M): rows of probabilities. `mask` (B, N) or null: the queries that count. Throws
  /// ShapeError where the number of heads is another than before.
  void add(const Tensor<double>& p, const Mask* mask);

  /// H of what was added; 0 before.
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
  void add_sample(const double* maps, std::size_t queries, std::size_t keys,
                  const std::uint8_t* mask);

  std::vector<Sums> sums_;
  double queries_ = 0, samples_ = 0;
};

}  // namespace xgrad
