#include <cmath>
#include <limits>

#include <xgrad/autograd/kernels/rows.hpp>
#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

namespace {

using detail::RowLayout;

template <class T>
struct Softmax final : Op<T> {
  const char* name() const override { return "softmax"; }
  const char* arguments() const override { return "x"; }

  Value<T> forward(const Inputs<T>& x) override {
    const RowLayout rows = detail::rows_of("softmax", x[0].shape());
    y = make_value<T>(x[0].shape());
    detail::for_each_row(rows, [&](std::size_t first) {
      const T* in = x[0].data() + first;
      T* out = y->data() + first;
      T largest = detail::row_max(in, rows.width);
      if (largest == -std::numeric_limits<T>::infinity()) largest = T(0);
      const T total = detail::exp_row(in, rows.width, largest, out);
      const T scale = total == T(0) ? T(0) : T(1) / total;
#pragma omp simd
      for (std::size_t i = 0; i < rows.width; ++i) out[i] *= scale;
    });
    return y;
  }

  // dy_j/dx_i = y_j (delta_ij - y_i), so dx = y (dy - mean) with mean = sum_j dy_j y_j. Where one
  // y_i is nearly 1, dy_i - mean cancels and leaves the rounding error of the mean. That error is
  // the weighted mean of the differences, so it is subtracted too.
  void backward(Tensor<T> dy, Grads<T>& dx) const override {
    const RowLayout rows = detail::rows_of("softmax", dy.shape());
    detail::for_each_row(rows, [&](std::size_t first) {
      const T* out = y->data() + first;
      T* d = dy.data() + first;
      const T mean = detail::dot(d, out, rows.width);
      const T error = detail::sum_terms<T>(rows.width, [=](std::size_t i) {
        d[i] -= mean;
        return d[i] * out[i];
      });
#pragma omp simd
      for (std::size_t i = 0; i < rows.width; ++i) d[i] = out[i] * (d[i] - error);
    });
    dx.add(0, std::move(dy));
  }

  Value<T> y;
};

template <class T>
struct LogSoftmax final : Op<T> {
  const char* name() const override { return "log_softmax"; }
  const char* arguments() const override { return "x"; }

  Value<T> forward(const Inputs<T>& x) override {
    const RowLayout rows = detail::rows_of("log_softmax", x[0].shape());
    y = make_value<T>(x[0].shape());
    detail::for_each_row(rows, [&](std::size_t first) {
      const T* in = x[0].data() + first;
      T* out = y->data() + first;
      const T largest = detail::row_max(in, rows.width);
      const T log_sum = detail::log(detail::exp_sum(in, rows.width, largest));
#pragma omp simd
      for (std::size_t i = 0; i < rows.width; ++i) out[i] = (in[i] - largest) - log_sum;
    });
    return y;
  }

  // y = x - log sum exp x, and d(log sum exp x)/dx_i = exp(y_i), so dx = dy - exp(y) sum_j dy_j.
  void backward(Tensor<T> dy, Grads<T>& dx) const override {
    const RowLayout rows = detail::rows_of("log_softmax", dy.shape());
    detail::for_each_row(rows, [&](std::size_t first) {
      const T* out = y->data() + first;
      T* d = dy.data() + first;
      const T sum = detail::row_sum(d, rows.width);
#pragma omp simd
      for (std::size_t i = 0; i < rows.width; ++i) d[i] -= detail::exp(out[i]) * sum;
    });
    dx.add(0, std::move(dy));
  }

  Value<T> y;
};

}  // namespace

template <class T>
Variable<T> softmax(const Variable<T>& x) {
  return apply<T>(std::make_unique<Softmax<T>>(), {x});
}

template <class T>
Variable<T> log_softmax(const Variable<T>& x) {
  return apply<T>(std::make_unique<LogSoftmax<T>>(), {x});
}

#define XGRAD_INSTANTIATE(T)                        \
  template Variable<T> softmax(const Variable<T>&); \
  template Variable<T> log_softmax(const Variable<T>&);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
