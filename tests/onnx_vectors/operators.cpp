#include "onnx_vectors/operators.hpp"

#include <numeric>

#include <xgrad/autograd/tensor.hpp>

namespace xgrad::test {

std::size_t axis_of(double axis, std::size_t rank) {
  return std::size_t(axis < 0 ? axis + double(rank) : axis);
}

template <class T>
Variable<T> to_end(const Variable<T>& x, std::size_t axis) {
  std::vector<std::ptrdiff_t> axes;
  for (std::size_t i = 0; i < x.shape().size(); ++i) {
    if (i != axis) axes.push_back(std::ptrdiff_t(i));
  }
  axes.push_back(std::ptrdiff_t(axis));
  return transpose(x, axes);
}

template <class T>
Variable<T> from_end(const Variable<T>& x, std::size_t axis) {
  std::vector<std::ptrdiff_t> axes(x.shape().size() - 1);
  std::iota(axes.begin(), axes.end(), 0);
  axes.insert(axes.begin() + std::ptrdiff_t(axis), std::ptrdiff_t(axes.size()));
  return transpose(x, axes);
}

#define XGRAD_INSTANTIATE(T)                                    \
  template Variable<T> to_end(const Variable<T>&, std::size_t); \
  template Variable<T> from_end(const Variable<T>&, std::size_t);
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad::test
