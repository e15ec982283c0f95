#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

namespace {

template <class T>
struct Where final : Op<T> {
  explicit Where(const Mask& condition) : condition(condition) {}
  const char* name() const override { return "where"; }
  const char* arguments() const override { return "x y"; }

  Value<T> forward(const Inputs<T>& in) override {
    broadcast_shape(name(), broadcast_shape(name(), condition.shape(), in[0].shape()),
                    in[1].shape());
    return as_value<T>(xt::where(xt::not_equal(condition, 0), in[0], in[1]));
  }

  // The result is x where the condition holds, so dx = dresult there and 0 elsewhere; dy is the
  // opposite. Selects instead of multiplying by 0, which would turn an inf into NaN.
  void backward(Tensor<T> dresult, Grads<T>& dx) const override {
    if (dx.wants(0)) dx.add(0, xt::where(xt::not_equal(condition, 0), dresult, T(0)));
    if (dx.wants(1)) dx.add(1, xt::where(xt::not_equal(condition, 0), T(0), dresult));
  }

  Mask condition;
};

}  // namespace

template <class T>
Variable<T> detail::where(const Mask& condition, const Variable<T>& x, const Variable<T>& y) {
  return apply<T>(std::make_unique<Where<T>>(condition), {x, y});
}

#define XGRAD_INSTANTIATE(T) \
  template Variable<T> detail::where(const Mask&, const Variable<T>&, const Variable<T>&);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
