#include <xgrad/layers/activations.hpp>

#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

template <class T>
Variable<T> observe_activation(const Context& context, std::uint64_t site, const char* name,
                               const Variable<T>& x) {
  if (!context.activations) return x;
  auto* taker = dynamic_cast<ActivationTaker<T>*>(context.activations);
  check<Error>(taker != nullptr,
               "Context: activations is not an ActivationTaker of the model's scalar type");
  Variable<T> y = taker->take(site, name, x);
  check_shape(y.shape() == x.shape(), "activation ", name, ": expected shape ",
              to_string(x.shape()), ", got ", to_string(y.shape()));
  return y;
}

#define XGRAD_INSTANTIATE(T)                                                          \
  template Variable<T> observe_activation(const Context&, std::uint64_t, const char*, \
                                          const Variable<T>&);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
