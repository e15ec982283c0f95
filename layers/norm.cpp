#include <xgrad/layers/norm.hpp>

#include <xgrad/autograd/scalar.hpp>
#include <xgrad/layers/init.hpp>

namespace xgrad {

template <class T>
Norm<T>::Norm(const Scope<T>& scope, std::size_t width, const NormOptions& options)
    : options_(options),
      weight_(scope.parameter("weight", {width}, init::ones(), WeightDecay::off)) {
  if (options.kind == Normalization::rms) return;
  bias_ = scope.parameter("bias", {width}, init::zeros(), WeightDecay::off);
}

template <class T>
Variable<T> Norm<T>::operator()(const Variable<T>& x, const SharedMask& mask) const {
  switch (options_.kind) {
    case Normalization::rms:
      return rms_norm(x, weight_, options_.eps);
    case Normalization::batch:
      return batch_norm(x, weight_, bias_, mask, options_.eps);
    case Normalization::layer:
      break;
  }
  return layer_norm(x, weight_, bias_, options_.eps);
}

#define XGRAD_INSTANTIATE(T) template class Norm<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
