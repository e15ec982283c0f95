#include <xgrad/autograd/kernels/elementwise.hpp>
#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

namespace {

template <class T>
struct Clamp final : Op<T> {
  Clamp(T min, T max) : min(min), max(max) {}
  const char* name() const override { return "clamp"; }
  const char* arguments() const override { return "x"; }

  Value<T> forward(const Inputs<T>& in) override {
    x = in.save(0);
    auto y = make_value<T>(x->shape());
    const T* v = x->data();
    T* out = y->data();
    detail::for_elements(y->size(), [=, low = min, high = max](std::size_t i) {
      out[i] = v[i] < low ? low : v[i] > high ? high : v[i];  // this form keeps NaN
    });
    return y;
  }

  // y = x between the bounds and constant beyond them: dx = dy where min <= x <= max, else 0. The
  // bounds themselves count as inside.
  void backward(Tensor<T> dy, Grads<T>& dx) const override {
    const T* v = x->data();
    T* d = dy.data();
    detail::for_elements(dy.size(), [=, low = min, high = max](std::size_t i) {
      d[i] = v[i] >= low && v[i] <= high ? d[i] : T(0);
    });
    dx.add(0, std::move(dy));
  }

  T min, max;
  Saved<T> x;
};

}  // namespace

template <class T>
Variable<T> clamp(const Variable<T>& x, std::type_identity_t<T> min, std::type_identity_t<T> max) {
  check_shape(min <= max, "clamp: expected min <= max, got ", double(min), " and ", double(max));
  return apply<T>(std::make_unique<Clamp<T>>(min, max), {x});
}

#define XGRAD_INSTANTIATE(T) template Variable<T> clamp(const Variable<T>&, T, T);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
