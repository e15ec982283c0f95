#include <xgrad/layers/pooling.hpp>

#include <xgrad/autograd/scalar.hpp>
#include <xgrad/layers/init.hpp>

namespace xgrad {

template <class T>
Pooling<T>::Pooling(const Scope<T>& scope, Pool kind, std::size_t width) : kind_(kind) {
  if (kind == Pool::attention)
    query_ = scope.parameter("query", {width}, init::normal(0.02), WeightDecay::off);
}

template <class T>
Variable<T> Pooling<T>::operator()(const Variable<T>& x, const SharedMask& mask) const {
  switch (kind_) {
    case Pool::cls:
      return select(x, 1, 0);
    case Pool::mean:
      return masked_mean(x, mask);
    case Pool::max:
      return masked_max(x, mask);
    case Pool::attention: {
      const Variable<T> queries(zeros<T>({x.shape()[0], 1, x.shape()[2]}));
      return select(attention(add(queries, query_), x, x, {.masks = {mask}}), 1, 0);
    }
    case Pool::none:
      break;
  }
  return x;
}

#define XGRAD_INSTANTIATE(T) template class Pooling<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
