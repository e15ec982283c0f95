#include <xgrad/layers/layer_norm.hpp>

#include <xgrad/autograd/scalar.hpp>
#include <xgrad/layers/init.hpp>

namespace xgrad {

template <class T>
LayerNorm<T>::LayerNorm(const Scope<T>& scope, std::size_t width, double eps)
    : weight_(scope.parameter("weight", {width}, init::ones(), WeightDecay::off)),
      bias_(scope.parameter("bias", {width}, init::zeros(), WeightDecay::off)),
      eps_(eps) {}

#define XGRAD_INSTANTIATE(T) template class LayerNorm<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
