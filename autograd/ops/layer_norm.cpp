#include <cmath>

#include <xgrad/autograd/kernels/rows.hpp>
#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/parallel.hpp>
#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

namespace {

using detail::RowLayout;

// Keeps x, which usually lives on anyway, and two numbers per row, instead of the normalised x.
template <class T>
struct LayerNorm final : Op<T> {
  explicit LayerNorm(double eps) : eps(eps) {}
  const char* name() const override { return "layer_norm"; }
  const char* arguments() const override { return "x weight bias"; }

  Value<T> forward(const Inputs<T>& in) override {
    rows = detail::rows_of("layer_norm", in[0].shape());
    check_shape(rows.width > 0, "layer_norm: x: expected at least one feature, got ",
                in[0].shape());
    const Shape features{rows.width};
    check_shape(in[1].shape() == features, "layer_norm: weight: expected ", features, ", got ",
                in[1].shape());
    check_shape(in[2].shape() == features, "layer_norm: bias: expected ", features, ", got ",
                in[2].shape());
    x = in.save(0);
    if (in.wants(0)) weight = in.save(1);
    mean = empty<T>({rows.count});
    rstd = empty<T>({rows.count});
    auto y = make_value<T>(in[0].shape());
    parallel_for(rows.count, rows.grain(), [&](std::size_t begin, std::size_t end) {
      for (std::size_t row = begin; row < end; ++row) {
        forward_row(row, in[1].data(), in[2].data(), y->data() + row * rows.width);
      }
    });
    return y;
  }

  void forward_row(std::size_t row, const T* w, const T* bias, T* y) {
    const std::size_t n = rows.width;
    const T* in = x->data() + row * n;
    const T first = in[0];  // subtracted so that a common offset costs no precision
    const T m = detail::sum_terms<T>(n, [=](std::size_t i) { return y[i] = in[i] - first; }) / T(n);
    const T squares = detail::sum_terms<T>(n, [=](std::size_t i) {
      y[i] -= m;
      return y[i] * y[i];
    });
    const T variance = squares / T(n) + T(eps);
    const T r = variance == T(0) ? T(0) : T(1) / std::sqrt(variance);
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) y[i] = y[i] * r * w[i] + bias[i];
    mean(row) = m;
    rstd(row) = r;
  }

  // With xhat = r (x - mean), r = (var + eps)^(-1/2): dvar/dx_i = 2 (x_i - mean) / D, so dr/dx_i =
  // -r^2 xhat_i / D and dxhat_j/dx_i = r (delta_ij - 1/D - xhat_j xhat_i / D). For g = dxhat =
  // weight dy:
  //   dx = r (g - mean(g) - xhat mean(g xhat)), dweight = sum over rows of dy xhat,
  //   dbias = sum over rows of dy.
  void backward(Tensor<T> dy, Grads<T>& dx) const override {
    const auto d = dx.wants(0) ? dx.target(0) : typename Grads<T>::Target();
    Tensor<T> sums = zeros<T>({2, rows.width});  // dweight and dbias
    const auto add = [&](std::size_t row, T* part) {
      backward_row(row, dy.data() + row * rows.width, part, d);
    };
    detail::add_rows(rows.count, 4 * rows.grain(), sums.size(), 2 * rows.width, add, sums.data());
    for (const std::size_t i : {0, 1}) {
      if (dx.wants(1 + i)) dx.add(1 + i, Tensor<T>(xt::row(sums, std::ptrdiff_t(i))));
    }
  }

  void backward_row(std::size_t row, const T* dy, T* sums, typename Grads<T>::Target target) const {
    const std::size_t n = rows.width;
    const T* in = x->data() + row * n;
    T *dweight = sums, *dbias = sums + n, *xhat = sums + 2 * n, *g = sums + 3 * n;
    const T first = in[0], m = mean(row), r = rstd(row);
    const auto add_up = [=](std::size_t i) {
      xhat[i] = (in[i] - first - m) * r;
      dweight[i] += dy[i] * xhat[i];
      dbias[i] += dy[i];
    };
    if (!target) {
#pragma omp simd
      for (std::size_t i = 0; i < n; ++i) add_up(i);
      return;
    }
    const T* w = weight->data();
    const T a = detail::sum_terms<T>(n,
                                     [=](std::size_t i) {
                                       add_up(i);
                                       return g[i] = dy[i] * w[i];
                                     }) /
                T(n);
    const T b = detail::dot(g, xhat, n) / T(n);
    target.add(row * n, n, [=](std::size_t i) { return r * (g[i] - a - xhat[i] * b); });
  }

  double eps;
  RowLayout rows{};
  Saved<T> x, weight;
  Tensor<T> mean, rstd;  // per row; mean is relative to the row's first element
};

}  // namespace

template <class T>
Variable<T> layer_norm(const Variable<T>& x, const Variable<T>& weight, const Variable<T>& bias,
                       double eps) {
  check_shape(eps >= 0, "layer_norm: expected eps >= 0, got ", eps);
  return apply<T>(std::make_unique<LayerNorm<T>>(eps), {x, weight, bias});
}

#define XGRAD_INSTANTIATE(T)                                                                  \
  template Variable<T> layer_norm(const Variable<T>&, const Variable<T>&, const Variable<T>&, \
                                  double);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
