#include <xgrad/layers/attention/head_diversity.hpp>

#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

namespace {

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

#define XGRAD_INSTANTIATE(T)                                                          \
  template Variable<T> head_diversity_penalty(const Variable<T>&, const SharedMask&); \
  template class HeadDiversity<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
