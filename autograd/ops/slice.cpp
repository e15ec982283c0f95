// slice takes a range along an axis; select takes one element and drops the axis.

#include <xgrad/autograd/kernels/axes.hpp>
#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

namespace {

struct Range {
  static constexpr const char* kName = "slice";
  static constexpr bool kDropAxis = false;
};

struct Single {
  static constexpr const char* kName = "select";
  static constexpr bool kDropAxis = true;
};

template <class T, class Kind>
struct Slice final : Op<T> {
  Slice(std::size_t axis, std::size_t begin, std::size_t end)
      : axis(axis), begin(begin), end(end) {}
  const char* name() const override { return Kind::kName; }
  const char* arguments() const override { return "x"; }

  Value<T> forward(const Inputs<T>& x) override {
    whole = detail::split_at(name(), x[0].shape(), axis);
    check_shape(begin < end && end <= whole.extent, name(), ": axis ", axis, " of shape ",
                x[0].shape(), ": expected begin < end <= ", whole.extent, ", got begin ", begin,
                ", end ", end);
    Shape shape = x[0].shape();
    shape[axis] = end - begin;
    auto y = make_value<T>(Kind::kDropAxis ? detail::without_axis(shape, axis) : shape);
    const std::size_t part = (end - begin) * whole.inner;
    for (std::size_t o = 0; o < whole.outer; ++o) {
      std::copy_n(x[0].data() + (o * whole.extent + begin) * whole.inner, part,
                  y->data() + o * part);
    }
    return y;
  }

  // dx is dy inside the range and 0 outside.
  void backward(Tensor<T> dy, Grads<T>& dx) const override {
    const auto target = dx.target(0);
    if (target.fresh) std::fill_n(target.data, whole.outer * whole.extent * whole.inner, T(0));
    const std::size_t part = (end - begin) * whole.inner;
    for (std::size_t o = 0; o < whole.outer; ++o) {
      const T* in = dy.data() + o * part;
      T* out = target.data + (o * whole.extent + begin) * whole.inner;
      for (std::size_t i = 0; i < part; ++i) out[i] += in[i];
    }
  }

  std::size_t axis, begin, end;
  detail::AxisView whole;
};

}  // namespace

template <class T>
Variable<T> slice(const Variable<T>& x, std::size_t axis, std::size_t begin, std::size_t end) {
  return apply<T>(std::make_unique<Slice<T, Range>>(axis, begin, end), {x});
}

template <class T>
Variable<T> select(const Variable<T>& x, std::size_t axis, std::size_t index) {
  return apply<T>(std::make_unique<Slice<T, Single>>(axis, index, index + 1), {x});
}

#define XGRAD_INSTANTIATE(T)                                                             \
  template Variable<T> slice(const Variable<T>&, std::size_t, std::size_t, std::size_t); \
  template Variable<T> select(const Variable<T>&, std::size_t, std::size_t);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
