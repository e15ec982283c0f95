// softmax, log_softmax and sparsemax, along the last axis.

#include <algorithm>
#include <cmath>
#include <limits>

#include <xgrad/autograd/kernels/loops.hpp>
#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/ops.hpp>

namespace xgrad {

namespace {

// For each row of n elements: F::forward(x, n, y), and F::backward(y, n, d) replaces dy by dx.
template <class T, class F>
struct RowFunction final : Op<T> {
  const char* name() const override { return F::kName; }
  const char* arguments() const override { return "x"; }

  Value<T> forward(const Inputs<T>& x) override {
    const detail::RowLayout rows = detail::rows_of(name(), x[0].shape());
    y = make_value<T>(x[0].shape());
    detail::for_each_row(rows, [&](std::size_t first) {
      F::forward(x[0].data() + first, rows.width, y->data() + first);
    });
    return y;
  }

  void backward(Tensor<T>& dy, Grads<T>& dx) const override {
    const detail::RowLayout rows = detail::rows_of(name(), dy.shape());
    detail::for_each_row(rows, [&](std::size_t first) {
      F::backward(y->data() + first, rows.width, dy.data() + first);
    });
    dx.add(0, std::move(dy));
  }

  Value<T> y;
};

template <class T>
struct Softmax {
  static constexpr const char* kName = "softmax";

  static void forward(const T* x, std::size_t n, T* y) {
    T largest = detail::row_max(x, n);
    if (largest == -std::numeric_limits<T>::infinity()) largest = T(0);
    const T total = detail::exp_row(x, n, largest, y);
    const T scale = total == T(0) ? T(0) : T(1) / total;
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) y[i] *= scale;
  }

  // dy_j/dx_i = y_j (delta_ij - y_i), so dx = y (dy - mean) with mean = sum_j dy_j y_j. If one
  // y_i is nearly 1, dy_i - mean cancels and leaves the rounding error of the mean. That error is
  // the weighted mean of the differences, so it is subtracted too.
  static void backward(const T* y, std::size_t n, T* d) {
    const T mean = detail::dot(d, y, n);
    const T error = detail::sum_terms<T>(n, [=](std::size_t i) {
      d[i] -= mean;
      return d[i] * y[i];
    });
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) d[i] = y[i] * (d[i] - error);
  }
};

template <class T>
struct LogSoftmax {
  static constexpr const char* kName = "log_softmax";

  static void forward(const T* x, std::size_t n, T* y) {
    const T largest = detail::row_max(x, n);
    const T log_sum = detail::log(detail::exp_sum(x, n, largest));
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) y[i] = (x[i] - largest) - log_sum;
  }

  // y = x - log sum exp x, and d(log sum exp x)/dx_i = exp(y_i), so dx = dy - exp(y) sum_j dy_j.
  static void backward(const T* y, std::size_t n, T* d) {
    const T sum = detail::row_sum(d, n);
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) d[i] -= detail::exp(y[i]) * sum;
  }
};

template <class T>
struct Sparsemax {
  static constexpr const char* kName = "sparsemax";

  static void forward(const T* x, std::size_t n, T* y) {
    const T largest = detail::row_max(x, n);
    const T tau = std::isfinite(largest) ? threshold(x, n, largest) : largest;
    for (std::size_t i = 0; i < n; ++i) y[i] = x[i] <= tau ? T(0) : x[i] - tau;
  }

  // The tau at which sum_i max(x_i - tau, 0) is 1. Starts with the elements within 1 of the
  // largest, since no others can lie above tau. Then repeatedly computes the tau of the remaining
  // elements and drops those below it, until all are above (Michelot 1986).
  static T threshold(const T* x, std::size_t n, T largest) {
    T tau = T(-1);  // x and tau relative to the largest
    for (std::size_t before = 0;;) {
      T sum = 0;
      std::size_t above = 0;
      for (std::size_t i = 0; i < n; ++i) {
        if (x[i] - largest > tau) sum += x[i] - largest, ++above;
      }
      if (above == before) return largest + tau;
      tau = std::max(tau, (sum - T(1)) / T(above));  // tau falls only by rounding errors
      before = above;
    }
  }

  // Let S be the indices with y_i > 0, `number` of them. There y_i = x_i - tau with
  // tau = (sum_S x_j - 1) / number, so dy_i/dx_j = delta_ij - 1 / number within S and 0 elsewhere:
  // dx = dy - mean_S(dy) in S, else 0.
  static void backward(const T* y, std::size_t n, T* d) {
    const T number = detail::sum_terms<T>(n, [=](std::size_t i) { return y[i] > 0 ? T(1) : T(0); });
    const T sum = detail::sum_terms<T>(n, [=](std::size_t i) { return y[i] > 0 ? d[i] : T(0); });
    const T mean = sum / number;  // not used if S is empty
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) d[i] = y[i] > 0 ? d[i] - mean : T(0);
  }
};

}  // namespace

template <class T>
Variable<T> softmax(const Variable<T>& x) {
  return apply<T>(std::make_unique<RowFunction<T, Softmax<T>>>(), {x});
}

template <class T>
Variable<T> log_softmax(const Variable<T>& x) {
  return apply<T>(std::make_unique<RowFunction<T, LogSoftmax<T>>>(), {x});
}

template <class T>
Variable<T> sparsemax(const Variable<T>& x) {
  return apply<T>(std::make_unique<RowFunction<T, Sparsemax<T>>>(), {x});
}

#define XGRAD_INSTANTIATE(T)                        \
  template decltype(softmax<T>) softmax<T>;         \
  template decltype(log_softmax<T>) log_softmax<T>; \
  template decltype(sparsemax<T>) sparsemax<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
