#include <xgrad/layers/attention/metrics.hpp>

#include <cmath>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/portable_math.hpp>

namespace xgrad {

namespace {

double norm(const Tensor<double>& x) {
  return std::sqrt(xt::sum(x * x)());
}

// Sets the rows of masked queries to 0, so that they add nothing to a product.
template <class T>
Variable<T> counted(const Variable<T>& maps, const Mask& mask) {
  const Shape& s = maps.shape();
  const Shape queries{s[0], s[2]};
  check_shape(mask.shape() == queries, "head_diversity_penalty: mask: expected ", queries, ", got ",
              mask.shape());
  Tensor<T> rows = xt::cast<T>(xt::not_equal(mask, 0));
  rows.reshape({s[0], 1, s[2], 1});
  return mul(maps, Variable<T>(std::move(rows)));
}

// maps (B, H, N, M) -> (B, H, H)
template <class T>
Variable<T> cosines_of(const Variable<T>& maps) {
  const Shape& s = maps.shape();
  const std::size_t size = s[2] * s[3];
  // RMS norm gives each map the length sqrt(size), so products are size times the cosines.
  const Variable<T> ones(full<T>({size}, 1));
  const Variable<T> x = rms_norm(reshape(maps, {s[0], s[1], size}), ones, 0);
  return scale(matmul(x, x, false, true), 1 / T(size));
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

template <class T>
Variable<T> head_diversity_penalty(const Variable<T>& maps, const SharedMask& mask) {
  const Shape& s = maps.shape();
  check_shape(s.size() == 4 && s[1] > 1 && s[2] * s[3] > 0,
              "head_diversity_penalty: expected maps (B, H, N, M) of two heads or more, got ", s);
  const std::size_t batch = s[0], heads = s[1];
  const Variable<T> cosines = cosines_of(mask ? counted(maps, *mask) : maps);
  const Variable<T> others(Tensor<T>(T(1) - xt::eye<T>(heads)));
  const Variable<T> pairs = mul(mul(cosines, cosines), others);
  return scale(sum(pairs), 1 / T(batch * heads * (heads - 1)));
}

template <class T>
Variable<T> HeadDiversity<T>::mean() const {
  check_shape(!penalties_.empty(), "head diversity: the model has no attention");
  Variable<T> total = penalties_.front();
  for (std::size_t i = 1; i < penalties_.size(); ++i) total = add(total, penalties_[i]);
  return scale(total, 1 / T(penalties_.size()));
}

#define XGRAD_INSTANTIATE(T)                                              \
  template decltype(head_diversity_penalty<T>) head_diversity_penalty<T>; \
  template class HeadDiversity<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
