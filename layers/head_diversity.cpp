#include <xgrad/layers/head_diversity.hpp>

#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

template <class T>
Variable<T> head_diversity_penalty(const Variable<T>& maps) {
  const Shape& s = maps.shape();
  check_shape(s.size() == 4 && s[1] > 1 && s[2] * s[3] > 0,
              "head_diversity_penalty: expected maps (B, H, N, M) of two heads or more, got ", s);
  const std::size_t batch = s[0], heads = s[1], size = s[2] * s[3];
  // Maps of length sqrt(size) each, so that their products are size times the cosines.
  const Variable<T> ones(full<T>({size}, 1));
  const Variable<T> x = rms_norm(reshape(maps, {batch, heads, size}), ones, 0);
  const Variable<T> cosines = scale(matmul(x, x, false, true), 1 / T(size));
  Tensor<T> others = full<T>({heads, heads}, 1);
  for (std::size_t h = 0; h < heads; ++h) others(h, h) = 0;
  const Variable<T> pairs = mul(mul(cosines, cosines), Variable<T>(std::move(others)));
  return scale(sum(pairs), 1 / T(batch * heads * (heads - 1)));
}

#define XGRAD_INSTANTIATE(T) template Variable<T> head_diversity_penalty(const Variable<T>&);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
