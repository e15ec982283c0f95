// slice takes a range along an axis; select takes one element and drops the axis.

#include <xgrad/autograd/kernels/axes.hpp>
#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

namespace {

template <class T>
struct Slice final : Op<T> {
  Slice(std::ptrdiff_t axis, std::size_t begin, std::size_t end, bool drops_axis)
      : axis(axis), begin(begin), end(end), drops_axis(drops_axis) {}
  const char* name() const override { return drops_axis ? "select" : "slice"; }
  const char* arguments() const override { return "x"; }

  Value<T> forward(const Inputs<T>& x) override {
    const detail::AxisView whole = detail::split_at(name(), x[0].shape(), axis);
    check_shape(begin < end && end <= whole.extent, name(), ": axis ", whole.axis, " of shape ",
                x[0].shape(), ": expected begin < end <= ", whole.extent, ", got begin ", begin,
                ", end ", end);
    place.assign(whole.axis, xt::all());
    if (drops_axis) {
      place.push_back(std::ptrdiff_t(begin));
    } else {
      place.push_back(xt::range(begin, end));
    }
    return as_value<T>(xt::strided_view(x[0], place));
  }

  // dx is dy inside the range and 0 outside.
  void backward(Tensor<T> dy, Grads<T>& dx) const override {
    Tensor<T> d = zeros<T>(dx.shape(0));
    xt::strided_view(d, place) = dy;
    dx.add(0, std::move(d));
  }

  std::ptrdiff_t axis;
  std::size_t begin, end;
  bool drops_axis;
  xt::xstrided_slice_vector place;
};

}  // namespace

template <class T>
Variable<T> slice(const Variable<T>& x, std::ptrdiff_t axis, std::size_t begin, std::size_t end) {
  return apply<T>(std::make_unique<Slice<T>>(axis, begin, end, false), {x});
}

template <class T>
Variable<T> select(const Variable<T>& x, std::ptrdiff_t axis, std::size_t index) {
  return apply<T>(std::make_unique<Slice<T>>(axis, index, index + 1, true), {x});
}

#define XGRAD_INSTANTIATE(T)                                                                \
  template Variable<T> slice(const Variable<T>&, std::ptrdiff_t, std::size_t, std::size_t); \
  template Variable<T> select(const Variable<T>&, std::ptrdiff_t, std::size_t);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
