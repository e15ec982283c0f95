#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

namespace {

template <class T>
struct Reshape final : Op<T> {
  explicit Reshape(const Shape& shape) : shape(shape) {}
  const char* name() const override { return "reshape"; }
  const char* arguments() const override { return "x"; }

  Value<T> forward(const Inputs<T>& x) override {
    check_shape(size_of(shape) == x[0].size(), "reshape: ", x[0].shape(), " has ", x[0].size(),
                " elements, ", shape, " has ", size_of(shape));
    before = x[0].shape();
    Tensor<T> y = x[0];
    y.reshape(shape);
    return as_value<T>(std::move(y));
  }

  // The elements keep their order, so dx is dy in the shape of x.
  void backward(Tensor<T> dy, Grads<T>& dx) const override {
    dy.reshape(before);
    dx.add(0, std::move(dy));
  }

  Shape shape, before;
};

}  // namespace

template <class T>
Variable<T> reshape(const Variable<T>& x, const Shape& shape) {
  return apply<T>(std::make_unique<Reshape<T>>(shape), {x});
}

#define XGRAD_INSTANTIATE(T) template Variable<T> reshape(const Variable<T>&, const Shape&);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
