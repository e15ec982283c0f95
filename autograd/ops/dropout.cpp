#include <xgrad/autograd/kernels/dropout_pieces.hpp>
#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

namespace {

using detail::check_dropout;
using detail::for_each_dropout_piece;

template <class T>
void multiply_by_factors(const char* op, const DropoutOptions& options, const Tensor<T>& x,
                         Tensor<T>& y) {
  for_each_dropout_piece<T>(op, x.shape(), options,
                            [&](std::size_t at, const T* factors, std::size_t n) {
                              const T* in = x.data() + at;
                              T* out = y.data() + at;
#pragma omp simd
                              for (std::size_t i = 0; i < n; ++i) out[i] = in[i] * factors[i];
                            });
}

template <class T>
struct DropoutOp final : Op<T> {
  explicit DropoutOp(const DropoutOptions& options) : options(options) {}
  const char* name() const override { return "dropout"; }
  const char* arguments() const override { return "x"; }

  Value<T> forward(const Inputs<T>& x) override {
    auto y = make_value<T>(x[0].shape());
    multiply_by_factors(name(), options, x[0], *y);
    return y;
  }

  // y = f x, so dx = f dy.
  void backward(Tensor<T> dy, Grads<T>& dx) const override {
    multiply_by_factors(name(), options, dy, dy);
    dx.add(0, std::move(dy));
  }

  DropoutOptions options;
};

template <class T>
struct DropoutAdd final : Op<T> {
  explicit DropoutAdd(const DropoutOptions& options) : options(options) {}
  const char* name() const override { return "dropout_add"; }
  const char* arguments() const override { return "x residual"; }

  Value<T> forward(const Inputs<T>& in) override {
    auto y = make_value<T>(in[0].shape());
    for_each_dropout_piece<T>(name(), in[0].shape(), options,
                              [&](std::size_t at, const T* factors, std::size_t n) {
                                const T* x = in[0].data() + at;
                                const T* residual = in[1].data() + at;
                                T* out = y->data() + at;
#pragma omp simd
                                for (std::size_t i = 0; i < n; ++i)
                                  out[i] = residual[i] + x[i] * factors[i];
                              });
    return y;
  }

  // y = residual + f x, so dx = f dy and dresidual = dy.
  void backward(Tensor<T> dy, Grads<T>& dx) const override {
    if (dx.wants(0)) {
      Tensor<T> d = empty<T>(dy.shape());
      multiply_by_factors(name(), options, dy, d);
      dx.add(0, std::move(d));
    }
    dx.add(1, std::move(dy));
  }

  DropoutOptions options;
};

}  // namespace

template <class T>
Variable<T> dropout(const Variable<T>& x, const DropoutOptions& options) {
  check_dropout("dropout", options);
  check_defined("dropout", "x", x);
  if (options.p == 0) return x;
  return apply<T>(std::make_unique<DropoutOp<T>>(options), {x});
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
  return apply<T>(std::make_unique<DropoutAdd<T>>(options), {x, residual});
}

#define XGRAD_INSTANTIATE(T)                                               \
  template Variable<T> dropout(const Variable<T>&, const DropoutOptions&); \
  template Variable<T> dropout_add(const Variable<T>&, const Variable<T>&, const DropoutOptions&);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
