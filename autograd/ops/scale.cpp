#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

namespace {

template <class T>
struct Scale final : Op<T> {
  explicit Scale(T c) : c(c) {}
  const char* name() const override { return "scale"; }
  const char* arguments() const override { return "x"; }

  Value<T> forward(const Inputs<T>& x) override { return as_value<T>(c * x[0]); }

  // y = c x, so dx = c dy.
  void backward(Tensor<T> dy, Grads<T>& dx) const override {
    dy *= c;
    dx.add(0, std::move(dy));
  }

  T c;
};

}  // namespace

template <class T>
Variable<T> scale(const Variable<T>& x, std::type_identity_t<T> c) {
  return apply<T>(std::make_unique<Scale<T>>(c), {x});
}

#define XGRAD_INSTANTIATE(T) template Variable<T> scale(const Variable<T>&, T);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
