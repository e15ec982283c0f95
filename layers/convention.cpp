#include <xgrad/layers/convention.hpp>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

template <class T>
Tensor<T> linear_weight(const Tensor<T>& w, Convention convention) {
  check_shape(w.dimension() == 2, "linear_weight: expected a matrix, got ", w.shape());
  return convention == Convention::column ? w : transpose(Variable<T>(w), {1, 0}).value();
}

#define XGRAD_INSTANTIATE(T) template Tensor<T> linear_weight(const Tensor<T>&, Convention);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
