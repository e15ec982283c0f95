#include <cmath>

#include <xgrad/autograd/kernels/rows.hpp>
#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/parallel.hpp>
#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

namespace {

using detail::RowLayout;

// Keeps x, which usually lives on anyway, and one number per row, instead of the normalised x.
template <class T>
struct RmsNorm final : Op<T> {
  explicit RmsNorm(double eps) : eps(eps) {}
  const char* name() const override { return "rms_norm"; }
  const char* arguments() const override { return "x weight"; }

  Value<T> forward(const Inputs<T>& in) override {
    rows = detail::rows_of("rms_norm", in[0].shape());
    check_shape(rows.width > 0, "rms_norm: x: expected at least one feature, got ", in[0].shape());
    const Shape features{rows.width};
    check_shape(in[1].shape() == features, "rms_norm: weight: expected ", features, ", got ",
                in[1].shape());
    x = in.save(0);
    if (in.wants(0)) weight = in.save(1);
    rrms = empty<T>({rows.count});
    auto y = make_value<T>(in[0].shape());
    parallel_for(rows.count, rows.grain(), [&](std::size_t begin, std::size_t end) {
      for (std::size_t row = begin; row < end; ++row) {
        forward_row(row, in[1].data(), y->data() + row * rows.width);
      }
    });
    return y;
  }

  void forward_row(std::size_t row, const T* w, T* y) {
    const std::size_t n = rows.width;
    const T* in = x->data() + row * n;
    const T square = detail::dot(in, in, n) / T(n) + T(eps);
    const T r = square == T(0) ? T(0) : T(1) / std::sqrt(square);
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) y[i] = in[i] * r * w[i];
    rrms(row) = r;
  }

  // With xhat = r x, r = (mean(x^2) + eps)^(-1/2): dr/dx_i = -r^3 x_i / D = -r^2 xhat_i / D, so
  // dxhat_j/dx_i = r (delta_ij - xhat_j xhat_i / D). For g = dxhat = weight dy:
  //   dx = r (g - xhat mean(g xhat)), dweight = sum over rows of dy xhat.
  void backward(Tensor<T> dy, Grads<T>& dx) const override {
    const auto d = dx.wants(0) ? dx.target(0) : typename Grads<T>::Target();
    Tensor<T> dweight = zeros<T>({rows.width});
    const auto add = [&](std::size_t row, T* part) {
      backward_row(row, dy.data() + row * rows.width, part, d);
    };
    detail::add_rows(rows.count, 4 * rows.grain(), rows.width, 0, add, dweight.data());
    dx.add(1, std::move(dweight));
  }

  void backward_row(std::size_t row, const T* dy, T* dweight,
                    typename Grads<T>::Target target) const {
    const std::size_t n = rows.width;
    const T* in = x->data() + row * n;
    const T r = rrms(row);
    const auto add_up = [=](std::size_t i) {
      const T term = dy[i] * (in[i] * r);
      dweight[i] += term;
      return term;
    };
    // The same loop whether or not dx is wanted: it decides the last bits of dweight.
    const T* w = target ? weight->data() : in;
    const T mean = detail::sum_terms<T>(n, [=](std::size_t i) { return add_up(i) * w[i]; }) / T(n);
    if (!target) return;
    target.add(row * n, n, [=](std::size_t i) { return r * (dy[i] * w[i] - in[i] * r * mean); });
  }

  double eps;
  RowLayout rows{};
  Saved<T> x, weight;
  Tensor<T> rrms;  // 1 / sqrt(mean(x^2) + eps), a row each; 0 where that is infinite
};

}  // namespace

template <class T>
Variable<T> rms_norm(const Variable<T>& x, const Variable<T>& weight, double eps) {
  check_shape(eps >= 0, "rms_norm: expected eps >= 0, got ", eps);
  return apply<T>(std::make_unique<RmsNorm<T>>(eps), {x, weight});
}

#define XGRAD_INSTANTIATE(T) \
  template Variable<T> rms_norm(const Variable<T>&, const Variable<T>&, double);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
