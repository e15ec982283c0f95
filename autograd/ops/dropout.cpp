#include <xgrad/autograd/kernels/dropout_pieces.hpp>
#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/ops.hpp>

namespace xgrad {

namespace {

using detail::check_dropout;
using detail::for_each_dropout_piece;

// y = f x with dropout factors f, or y = residual + f x.
template <class T>
struct Dropout final : Op<T> {
  Dropout(const DropoutOptions& options, bool adds) : options(options), adds(adds) {}
  const char* name() const override { return adds ? "dropout_add" : "dropout"; }
  const char* arguments() const override { return adds ? "x residual" : "x"; }

  Value<T> forward(const Inputs<T>& x) override {
    auto y = make_value<T>(x[0].shape());
    multiply(x[0], adds ? x[1].data() : nullptr, *y);
    return y;
  }

  // dx = f dy and dresidual = dy.
  void backward(Tensor<T>& dy, Grads<T>& dx) const override {
    if (!adds) {
      multiply(dy, nullptr, dy);
      return dx.add(0, std::move(dy));
    }
    if (dx.wants(0)) {
      Tensor<T> d = empty<T>(dy.shape());
      multiply(dy, nullptr, d);
      dx.add(0, std::move(d));
    }
    dx.add(1, std::move(dy));
  }

  // y = f x, or residual + f x if there is a residual; x and y may be the same.
  void multiply(const Tensor<T>& x, const T* residual, Tensor<T>& y) const {
    const auto piece = [&](std::size_t at, const T* factors, std::size_t n) {
      const T *in = x.data() + at, *base = residual + (residual ? at : 0);
      T* out = y.data() + at;
      if (residual) {
#pragma omp simd
        for (std::size_t i = 0; i < n; ++i) out[i] = base[i] + in[i] * factors[i];
      } else {
#pragma omp simd
        for (std::size_t i = 0; i < n; ++i) out[i] = in[i] * factors[i];
      }
    };
    for_each_dropout_piece<T>(name(), x.shape(), options, piece);
  }

  DropoutOptions options;
  bool adds;
};

}  // namespace

template <class T>
Variable<T> dropout(const Variable<T>& x, const DropoutOptions& options) {
  check_dropout("dropout", options);
  check_defined("dropout", "x", x);
  if (options.p == 0) return x;
  return apply<T>(std::make_unique<Dropout<T>>(options, false), {x});
}

template <class T>
Variable<T> dropout_add(const Variable<T>& x, const Variable<T>& residual,
                        const DropoutOptions& options) {
  check_dropout("dropout_add", options);
  check_defined("dropout_add", "x", x);
  check_defined("dropout_add", "residual", residual);
  check_shape(x.shape() == residual.shape(), "dropout_add: x has shape ", x.shape(), ", residual ",
              residual.shape());
  if (options.p == 0) return add(residual, x);
  return apply<T>(std::make_unique<Dropout<T>>(options, true), {x, residual});
}

#define XGRAD_INSTANTIATE(T)                \
  template decltype(dropout<T>) dropout<T>; \
  template decltype(dropout_add<T>) dropout_add<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
