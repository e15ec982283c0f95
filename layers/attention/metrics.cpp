#include <xgrad/layers/attention/metrics.hpp>

#include <cmath>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/portable_math.hpp>

namespace xgrad {

namespace {

double ratio(double x, double n) {
  return n == 0 ? 0 : x / n;
}

double norm(const Tensor<double>& x) {
  return std::sqrt(xt::sum(x * x)());
}

}  // namespace

void AttentionMetrics::add(const Tensor<double>& p, const SharedMask& mask, bool cross) {
  check_shape(p.dimension() == 4, "attention metrics: expected (B, H, N, M), got ", p.shape());
  const std::size_t batch = p.shape()[0], heads = p.shape()[1], n = p.shape()[2], m = p.shape()[3];
  check_shape(sums_.empty() || sums_.size() == heads, "attention metrics: expected ", sums_.size(),
              " heads as before, got ", heads);
  check_shape(!mask || mask->shape() == Shape{batch, n}, "attention metrics: mask: expected ",
              Shape{batch, n}, ", got ", mask ? mask->shape() : Shape{});
  sums_.resize(heads, Sums{0, 0, 0, std::vector<double>(heads, 0.0)});
  const Tensor<double> counts =
      mask ? Tensor<double>(xt::not_equal(*mask, 0)) : ones<double>({batch, n});
  for (std::size_t b = 0; b < batch; ++b) {
    add_sample(xt::view(p, b), xt::view(counts, b), cross || n != m);
  }
}

// `maps` (H, N, M); `counts` (N): 1 where a query counts, else 0.
void AttentionMetrics::add_sample(const Tensor<double>& maps, const Tensor<double>& counts,
                                  bool cross) {
  const Tensor<double> rows = xt::view(counts, xt::all(), xt::newaxis());
  const Tensor<double> places = xt::arange<double>(double(maps.shape()[1])),
                       keys = xt::arange<double>(double(maps.shape()[2]));
  const Tensor<double> apart = xt::abs(xt::view(places, xt::all(), xt::newaxis()) - keys);
  std::vector<Tensor<double>> own;  // of each head, with rows of 0 for queries that do not count
  for (std::size_t h = 0; h < heads(); ++h) own.emplace_back(xt::view(maps, h) * rows);
  for (std::size_t h = 0; h < heads(); ++h) {
    const Tensor<double>& a = own[h];
    for (const double p : a) sums_[h].entropy -= p > 0 ? p * portable::log(p) : 0;
    sums_[h].distance += xt::sum(a * apart)();
    if (!cross) {
      const Tensor<double> both = a * counts;
      sums_[h].asymmetry += ratio(norm(both - xt::transpose(both)), std::sqrt(2.0) * norm(a));
    }
    for (std::size_t g = 0; g < heads(); ++g) {
      sums_[h].redundancy[g] += ratio(xt::sum(a * own[g])(), norm(a) * norm(own[g]));
    }
  }
  samples_ += 1;
  queries_ += xt::sum(counts)();
}

double AttentionMetrics::entropy(std::size_t head) const {
  return ratio(sums_.at(head).entropy, queries_);
}

double AttentionMetrics::distance(std::size_t head) const {
  return ratio(sums_.at(head).distance, queries_);
}

double AttentionMetrics::asymmetry(std::size_t head) const {
  return ratio(sums_.at(head).asymmetry, samples_);
}

double AttentionMetrics::redundancy(std::size_t g, std::size_t h) const {
  return ratio(sums_.at(g).redundancy.at(h), samples_);
}

}  // namespace xgrad
