#include <xgrad/layers/mlp.hpp>

#include <xgrad/autograd/scalar.hpp>
#include <xgrad/layers/activations.hpp>

namespace xgrad {

template <class T>
Variable<T> activated(const Variable<T>& x, const Linear<T>& linear, Activation activation,
                      const DropoutOptions& options) {
  switch (activation) {
    case Activation::gelu:
      return linear_gelu(x, linear.weight(), linear.bias(), Gelu::exact, options);
    case Activation::gelu_tanh:
      return linear_gelu(x, linear.weight(), linear.bias(), Gelu::tanh, options);
    case Activation::relu:
      return dropout(relu(linear(x)), options);
    case Activation::silu:
      break;
  }
  return dropout(silu(linear(x)), options);
}

template <class T>
Mlp<T>::Mlp(const Scope<T>& scope, std::size_t width, std::size_t hidden, Activation activation,
            double dropout)
    : id_(scope.id()),
      dropout_id_((scope / "linear1").id()),
      linear1_(scope / "linear1", width, hidden),
      linear2_(scope / "linear2", hidden, width),
      activation_(activation),
      dropout_(dropout) {}

template <class T>
Variable<T> Mlp<T>::operator()(const Variable<T>& x, const Context& context) const {
  const DropoutOptions dropout = context.dropout(dropout_, dropout_id_);
  const Variable<T> hidden = activated(x, linear1_, activation_, dropout);
  return linear2_(observe_activation(context, {id_, "mlp_hidden"}, hidden));
}

#define XGRAD_INSTANTIATE(T)                                                       \
  template Variable<T> activated(const Variable<T>&, const Linear<T>&, Activation, \
                                 const DropoutOptions&);                           \
  template class Mlp<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
