#include <xgrad/autograd/kernels/axes.hpp>
#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

namespace {

template <class T>
struct Concat final : Op<T> {
  explicit Concat(std::ptrdiff_t axis) : axis(axis) {}
  const char* name() const override { return "concat"; }
  const char* arguments() const override { return "parts[]"; }

  Value<T> forward(const Inputs<T>& x) override {
    check_shape(x.size() > 0, "concat: expected at least one input, got none");
    whole = detail::split_at(name(), x[0].shape(), axis);
    whole.extent = 0;
    Shape shape = x[0].shape();
    for (std::size_t p = 0; p < x.size(); ++p) {
      const Shape& got = x[p].shape();
      if (got.size() == shape.size()) shape[whole.axis] = got[whole.axis];
      check_shape(got == shape, "concat: expected equal shapes except along axis ", whole.axis,
                  ", got ", x[0].shape(), " and ", got);
      extents.push_back(got[whole.axis]);
      whole.extent += extents.back();
    }
    shape[whole.axis] = whole.extent;
    auto y = make_value<T>(shape);
    std::size_t first = 0;  // where part p begins along the axis
    for (std::size_t p = 0; p < x.size(); first += extents[p++]) {
      const std::size_t size = extents[p] * whole.inner;
      for (std::size_t o = 0; o < whole.outer; ++o) {
        std::copy_n(x[p].data() + o * size, size,
                    y->data() + (o * whole.extent + first) * whole.inner);
      }
    }
    return y;
  }

  // The gradient of each part is its slice of dy.
  void backward(Tensor<T> dy, Grads<T>& dx) const override {
    std::size_t first = 0;
    for (std::size_t p = 0; p < extents.size(); first += extents[p++]) {
      if (!dx.wants(p)) continue;
      const auto target = dx.target(p);
      const std::size_t size = extents[p] * whole.inner;
      for (std::size_t o = 0; o < whole.outer; ++o) {
        const T* in = dy.data() + (o * whole.extent + first) * whole.inner;
        target.add(o * size, size, [=](std::size_t i) { return in[i]; });
      }
    }
  }

  std::ptrdiff_t axis;
  detail::AxisView whole;
  std::vector<std::size_t> extents;
};

}  // namespace

template <class T>
Variable<T> concat(const std::vector<Variable<T>>& parts, std::ptrdiff_t axis) {
  return apply<T>(std::make_unique<Concat<T>>(axis), parts);
}

#define XGRAD_INSTANTIATE(T) \
  template Variable<T> concat(const std::vector<Variable<T>>&, std::ptrdiff_t);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
