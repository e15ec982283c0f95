#include <xgrad/layers/linear.hpp>

#include <cmath>

#include <xgrad/autograd/scalar.hpp>
#include <xgrad/layers/init.hpp>

namespace xgrad {

template <class T>
Linear<T>::Linear(const Scope<T>& scope, std::size_t in, std::size_t out, bool bias)
    : weight_(scope.parameter("weight", {out, in}, init::uniform(1 / std::sqrt(double(in))))) {
  if (bias)
    bias_ =
        scope.parameter("bias", {out}, init::uniform(1 / std::sqrt(double(in))), WeightDecay::off);
}

#define XGRAD_INSTANTIATE(T) template class Linear<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
