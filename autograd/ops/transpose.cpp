#include <xgrad/autograd/kernels/axes.hpp>
#include <xgrad/autograd/kernels/elementwise.hpp>
#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

namespace {

using Axes = std::vector<std::size_t>;

// Axis i of the result is axis axes[i] of x.
template <class T>
Tensor<T> permute(const Tensor<T>& x, const Axes& axes) {
  const detail::Strides from = detail::row_major_strides(x.shape());
  Shape shape(axes.size());
  std::array<detail::Strides, 1> strides = {detail::Strides(axes.size())};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    shape[i] = x.shape()[axes[i]];
    strides[0][i] = from[axes[i]];
  }
  Tensor<T> y = empty<T>(shape);
  if (shape.empty()) {
    y.data()[0] = x.data()[0];
    return y;
  }

  const std::size_t width = shape.back();
  const std::size_t step = strides[0].back();
  const Shape rows(shape.begin(), shape.end() - 1);
  strides[0].pop_back();
  parallel_for(size_of(rows), detail::row_grain(width), [&](std::size_t begin, std::size_t end) {
    detail::for_each_index(rows, strides, begin, end, [&](std::size_t row, const auto& offsets) {
      const T* in = x.data() + offsets[0];
      T* out = y.data() + row * width;
      for (std::size_t j = 0; j < width; ++j) out[j] = in[j * step];
    });
  });
  return y;
}

template <class T>
struct Transposed final : Op<T> {
  explicit Transposed(const std::vector<std::ptrdiff_t>& given) : given(given) {}
  const char* name() const override { return "transpose"; }
  const char* arguments() const override { return "x"; }

  Value<T> forward(const Inputs<T>& x) override {
    const std::size_t rank = x[0].dimension();
    check_shape(given.size() == rank, "transpose: expected ", rank, " axes for shape ",
                x[0].shape(), ", got ", given.size());
    inverse.assign(rank, rank);
    for (const std::ptrdiff_t axis : given) {
      axes.push_back(detail::axis_of(name(), x[0].shape(), axis));
      check_shape(inverse[axes.back()] == rank, "transpose: axis ", axis, " of shape ",
                  x[0].shape(), " is named twice");
      inverse[axes.back()] = axes.size() - 1;
    }
    return as_value<T>(permute(x[0], axes));
  }

  // dx is dy with the axes permuted back.
  void backward(Tensor<T> dy, Grads<T>& dx) const override { dx.add(0, permute(dy, inverse)); }

  std::vector<std::ptrdiff_t> given;
  Axes axes, inverse;
};

}  // namespace

template <class T>
Variable<T> transpose(const Variable<T>& x, const std::vector<std::ptrdiff_t>& axes) {
  return apply<T>(std::make_unique<Transposed<T>>(axes), {x});
}

#define XGRAD_INSTANTIATE(T) \
  template Variable<T> transpose(const Variable<T>&, const std::vector<std::ptrdiff_t>&);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
