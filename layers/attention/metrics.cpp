#include <xgrad/layers/attention/metrics.hpp>

#include <cmath>

#include <xgrad/autograd/check.hpp>

namespace xgrad {

namespace {

double ratio(double x, double n) {
  return n == 0 ? 0 : x / n;
}

// One attention map (queries, keys). Its sums skip the rows of masked queries.
struct Map {
  const double* p;
  std::size_t queries, keys;
  const std::uint8_t* mask;

  bool counts(std::size_t i) const { return mask == nullptr || mask[i] != 0; }

  template <class F>
  double sum(const F& f) const {
    double total = 0;
    for (std::size_t i = 0; i < queries; ++i) {
      for (std::size_t j = 0; counts(i) && j < keys; ++j) total += f(i, j);
    }
    return total;
  }

  double dot(const double* other) const {
    return sum([&](std::size_t i, std::size_t j) { return p[i * keys + j] * other[i * keys + j]; });
  }
};

double entropy_of(const Map& map) {
  return map.sum([&](std::size_t i, std::size_t j) {
    const double a = map.p[i * map.keys + j];
    return a > 0 ? -a * std::log(a) : 0.0;
  });
}

double distance_of(const Map& map) {
  return map.sum([&](std::size_t i, std::size_t j) {
    return map.p[i * map.keys + j] * std::abs(double(i) - double(j));
  });
}

double asymmetry_of(const Map& map) {
  if (map.queries != map.keys) return 0;
  const double squares = map.sum([&](std::size_t i, std::size_t j) {
    if (!map.counts(j)) return 0.0;
    const double d = map.p[i * map.keys + j] - map.p[j * map.keys + i];
    return d * d;
  });
  return ratio(std::sqrt(squares), std::sqrt(2 * map.dot(map.p)));
}

}  // namespace

void AttentionMetrics::add(const Tensor<double>& p, const Mask* mask, bool cross) {
  check_shape(p.dimension() == 4, "attention metrics: expected (B, H, N, M), got ", p.shape());
  const std::size_t batch = p.shape()[0], heads = p.shape()[1], n = p.shape()[2], m = p.shape()[3];
  check_shape(sums_.empty() || sums_.size() == heads, "attention metrics: expected ", sums_.size(),
              " heads as before, got ", heads);
  check_shape(!mask || mask->shape() == Shape{batch, n}, "attention metrics: mask: expected ",
              Shape{batch, n}, ", got ", mask ? mask->shape() : Shape{});
  sums_.resize(heads, Sums{0, 0, 0, std::vector<double>(heads, 0.0)});
  for (std::size_t b = 0; b < batch; ++b) {
    add_sample(p.data() + b * heads * n * m, n, m, mask ? mask->data() + b * n : nullptr, cross);
  }
}

void AttentionMetrics::add_sample(const double* maps, std::size_t queries, std::size_t keys,
                                  const std::uint8_t* mask, bool cross) {
  const auto map = [&](std::size_t h) {
    return Map{maps + h * queries * keys, queries, keys, mask};
  };
  std::vector<double> norms;
  for (std::size_t h = 0; h < heads(); ++h) norms.push_back(std::sqrt(map(h).dot(map(h).p)));
  for (std::size_t h = 0; h < heads(); ++h) {
    sums_[h].entropy += entropy_of(map(h));
    sums_[h].distance += distance_of(map(h));
    if (!cross) sums_[h].asymmetry += asymmetry_of(map(h));
    for (std::size_t g = 0; g < heads(); ++g) {
      sums_[h].redundancy[g] += ratio(map(h).dot(map(g).p), norms[g] * norms[h]);
    }
  }
  samples_ += 1;
  for (std::size_t i = 0; i < queries; ++i) queries_ += map(0).counts(i);
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
