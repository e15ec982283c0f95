#include <xgrad/layers/attention/observer.hpp>

#include <algorithm>

#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

template <class T>
Variable<T> observe_attention(AttentionObserver& observer, const ObservedAttention& attention,
                              const Variable<T>& y, const std::function<Variable<T>()>& maps) {
  const auto& [site, heads, query_mask, cross] = attention;
  if (auto* taker = dynamic_cast<MapObserver<T>*>(&observer)) taker->on_maps(maps(), query_mask);
  if (observer.wants_probabilities()) {
    const NoGrad no_grad;
    observer.on_probabilities(site, cast<double>(maps().value()), query_mask, cross);
  }
  const std::vector<double> factors = observer.head_factors(site, heads);
  if (factors.empty()) return y;
  const std::size_t width = y.shape().back() / heads;
  Tensor<T> scale = empty<T>({y.shape().back()});
  for (std::size_t h = 0; h < heads; ++h) {
    std::fill_n(scale.data() + h * width, width, T(factors[h]));
  }
  return mul(y, Variable<T>(std::move(scale)));
}

#define XGRAD_INSTANTIATE(T)                                                           \
  template Variable<T> observe_attention(AttentionObserver&, const ObservedAttention&, \
                                         const Variable<T>&, const std::function<Variable<T>()>&);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
