#include <xgrad/layers/mlp.hpp>

#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

template <class T>
Mlp<T>::Mlp(const Scope<T>& scope, std::size_t width, std::size_t hidden, Activation activation,
            double dropout)
    : site_((scope / "linear1").site()),
      linear1_(scope / "linear1", width, hidden),
      linear2_(scope / "linear2", hidden, width),
      activation_(activation),
      dropout_(dropout) {}

template <class T>
Variable<T> Mlp<T>::operator()(const Variable<T>& x, const Context& context) const {
  const Gelu kind = activation_ == Activation::gelu ? Gelu::exact : Gelu::tanh;
  const Variable<T> hidden = activation_ == Activation::relu
                                 ? relu(linear1_(x))
                                 : linear_gelu(x, linear1_.weight(), linear1_.bias(), kind);
  return linear2_(dropout(hidden, context.dropout(dropout_, site_)));
}

#define XGRAD_INSTANTIATE(T) template class Mlp<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
