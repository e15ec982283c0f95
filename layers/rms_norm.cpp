#include <xgrad/layers/rms_norm.hpp>

#include <xgrad/autograd/scalar.hpp>
#include <xgrad/layers/init.hpp>

namespace xgrad {

template <class T>
RmsNorm<T>::RmsNorm(const Scope<T>& scope, std::size_t width, double eps)
    : weight_(scope.parameter("weight", {width}, init::ones(), WeightDecay::off)), eps_(eps) {}

#define XGRAD_INSTANTIATE(T) template class RmsNorm<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
