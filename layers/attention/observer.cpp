#include <xgrad/layers/attention/observer.hpp>

#include <algorithm>

#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

template <class T>
Variable<T> observe_attention(AttentionObserver& observer, std::uint64_t site, const Variable<T>& y,
                              const AttentionOptions& options,
                              const std::function<Variable<T>()>& maps) {
  if (auto* taker = dynamic_cast<MapObserver<T>*>(&observer)) {
    taker->on_maps(maps(), options.masks.key_mask.get());
  }
  if (observer.wants_probabilities()) {
    const NoGrad no_grad;
    observer.on_probabilities(site, cast<double>(maps().value()), options.masks.key_mask.get());
  }
  const std::vector<double> factors = observer.head_factors(site, options.heads);
  if (factors.empty()) return y;
  const std::size_t width = y.shape().back() / options.heads;
  Tensor<T> scale = empty<T>({y.shape().back()});
  for (std::size_t h = 0; h < options.heads; ++h) {
    std::fill_n(scale.data() + h * width, width, T(factors[h]));
  }
  return mul(y, Variable<T>(std::move(scale)));
}

#define XGRAD_INSTANTIATE(T)                                                                    \
  template Variable<T> observe_attention(AttentionObserver&, std::uint64_t, const Variable<T>&, \
                                         const AttentionOptions&,                               \
                                         const std::function<Variable<T>()>&);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
