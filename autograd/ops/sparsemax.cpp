#include <algorithm>
#include <cmath>

#include <xgrad/autograd/kernels/rows.hpp>
#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

namespace {

using detail::RowLayout;

// The tau at which sum_i max(x_i - tau, 0) is 1. Starts with the elements within 1 of the largest,
// since no others can lie above tau. Then repeatedly computes the tau of the remaining elements and
// drops those below it, until none is (Michelot 1986).
template <class T>
T threshold(const T* x, std::size_t n, T largest) {
  T tau = T(-1);  // x and tau relative to the largest
  for (std::size_t before = 0;;) {
    T sum = 0;
    std::size_t above = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (x[i] - largest > tau) sum += x[i] - largest, ++above;
    }
    if (above == before) return largest + tau;
    tau = std::max(tau, (sum - T(1)) / T(above));  // max() undoes a fall by rounding
    before = above;
  }
}

template <class T>
struct Sparsemax final : Op<T> {
  const char* name() const override { return "sparsemax"; }
  const char* arguments() const override { return "x"; }

  Value<T> forward(const Inputs<T>& x) override {
    const RowLayout rows = detail::rows_of("sparsemax", x[0].shape());
    y = make_value<T>(x[0].shape());
    detail::for_each_row(rows, [&](std::size_t first) {
      const T* in = x[0].data() + first;
      T* out = y->data() + first;
      const T largest = detail::row_max(in, rows.width);
      const bool finite = std::isfinite(largest);
      const T tau = finite ? threshold(in, rows.width, largest) : largest;
      for (std::size_t i = 0; i < rows.width; ++i) out[i] = in[i] <= tau ? T(0) : in[i] - tau;
    });
    return y;
  }

  // Let S be the n indices with y_i > 0. There y_i = x_i - tau with tau = (sum_S x_j - 1) / n, so
  // dy_i/dx_j = delta_ij - 1 / n within S and 0 elsewhere: dx = dy - mean_S(dy) in S, else 0.
  void backward(Tensor<T> dy, Grads<T>& dx) const override {
    const RowLayout rows = detail::rows_of("sparsemax", dy.shape());
    detail::for_each_row(rows, [&](std::size_t first) {
      const T* out = y->data() + first;
      T* d = dy.data() + first;
      const T number =
          detail::sum_terms<T>(rows.width, [=](std::size_t i) { return out[i] > 0 ? T(1) : T(0); });
      const T sum =
          detail::sum_terms<T>(rows.width, [=](std::size_t i) { return out[i] > 0 ? d[i] : T(0); });
      const T mean = number > 0 ? sum / number : T(0);
#pragma omp simd
      for (std::size_t i = 0; i < rows.width; ++i) d[i] = out[i] > 0 ? d[i] - mean : T(0);
    });
    dx.add(0, std::move(dy));
  }

  Value<T> y;
};

}  // namespace

template <class T>
Variable<T> sparsemax(const Variable<T>& x) {
  return apply<T>(std::make_unique<Sparsemax<T>>(), {x});
}

#define XGRAD_INSTANTIATE(T) template Variable<T> sparsemax(const Variable<T>&);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
