#include <xgrad/layers/activations.hpp>

#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

template <class T>
Variable<T> observe_activation(const Context& context, const ActivationPlace& place,
                               const Variable<T>& x) {
  if (!observes(context, place.name)) return x;
  auto* taker = dynamic_cast<ActivationTaker<T>*>(context.activations);
  check<Error>(taker != nullptr,
               "Context: activations is not an ActivationTaker of the model's scalar type");
  Variable<T> y = taker->take(place, x);
  check_shape(y.shape() == x.shape(), "activation ", place.name, ": expected shape ", x.shape(),
              ", got ", y.shape());
  return y;
}

#define XGRAD_INSTANTIATE(T)                                                      \
  template Variable<T> observe_activation(const Context&, const ActivationPlace&, \
                                          const Variable<T>&);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
