// layer_norm and rms_norm, along the last axis, and batch_norm, over all other axes.

#include <algorithm>
#include <cmath>
#include <vector>

#include <xgrad/autograd/kernels/loops.hpp>
#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/parallel.hpp>

namespace xgrad {

namespace {

using detail::RowLayout;

// The rows of x, input 0. Throws ShapeError unless weight and bias are as long as a row.
template <class T>
RowLayout checked_rows(const char* op, const Inputs<T>& in) {
  const RowLayout rows = detail::rows_of(op, in[0].shape());
  const Shape features{rows.width};
  for (std::size_t i = 1; i < in.size(); ++i) {
    check_shape(in[i].shape() == features, op, i == 1 ? ": weight" : ": bias", ": expected ",
                features, ", got ", in[i].shape());
  }
  return rows;
}

// layer_norm, which subtracts the mean of a row, or rms_norm, which does not. Keeps x, which other
// ops usually keep anyway, and a number or two per row, instead of the normalised x.
template <class T, bool kCenters>
struct RowNorm final : Op<T> {
  explicit RowNorm(double eps) : eps(eps) {}
  const char* name() const override { return kCenters ? "layer_norm" : "rms_norm"; }
  const char* arguments() const override { return kCenters ? "x weight bias" : "x weight"; }

  Value<T> forward(const Inputs<T>& in) override {
    rows = checked_rows(name(), in);
    check_shape(rows.width > 0, name(), ": x: expected at least one feature, got ", in[0].shape());
    x = in.save(0);
    if (in.wants(0)) weight = in.save(1);
    if (kCenters) mean = empty<T>({rows.count});
    inverse = empty<T>({rows.count});
    auto y = make_value<T>(in[0].shape());
    parallel_for(rows.count, rows.grain(), [&](std::size_t begin, std::size_t end) {
      for (std::size_t row = begin; row < end; ++row) {
        forward_row(row, in[1].data(), kCenters ? in[2].data() : nullptr,
                    y->data() + row * rows.width);
      }
    });
    return y;
  }

  void forward_row(std::size_t row, const T* w, const T* bias, T* y) {
    const std::size_t n = rows.width;
    const T* in = x->data() + row * n;
    T squares;
    if constexpr (kCenters) {
      const T first = in[0];  // subtracted so that a common offset costs no precision
      const T m =
          detail::sum_terms<T>(n, [=](std::size_t i) { return y[i] = in[i] - first; }) / T(n);
      squares = detail::sum_terms<T>(n, [=](std::size_t i) {
        y[i] -= m;
        return y[i] * y[i];
      });
      mean(row) = m;
    } else {
      squares = detail::dot(in, in, n);
    }
    const T square = squares / T(n) + T(eps);
    const T r = inverse(row) = square == T(0) ? T(0) : T(1) / std::sqrt(square);
    if constexpr (kCenters) {
#pragma omp simd
      for (std::size_t i = 0; i < n; ++i) y[i] = y[i] * r * w[i] + bias[i];
    } else {
#pragma omp simd
      for (std::size_t i = 0; i < n; ++i) y[i] = in[i] * r * w[i];
    }
  }

  // With xhat = r (x - mean), r = (var + eps)^(-1/2): dvar/dx_i = 2 (x_i - mean) / D, so dr/dx_i =
  // -r^2 xhat_i / D and dxhat_j/dx_i = r (delta_ij - 1/D - xhat_j xhat_i / D). For g = dxhat =
  // weight dy:
  //   dx = r (g - mean(g) - xhat mean(g xhat)), dweight = sum over rows of dy xhat,
  //   dbias = sum over rows of dy.
  // In rms_norm, mean and mean(g) are absent.
  void backward(Tensor<T>& dy, Grads<T>& dx) const override {
    const auto d = dx.wants(0) ? dx.target(0) : typename Grads<T>::Target();
    Tensor<T> sums = zeros<T>({kCenters ? 2u : 1u, rows.width});  // dweight and dbias
    const auto add = [&](std::size_t row, T* part) {
      backward_row(row, dy.data() + row * rows.width, part, d);
    };
    detail::add_rows(rows.count, 4 * rows.grain(), sums.size(), kCenters ? 2 * rows.width : 0, add,
                     sums.data());
    for (std::size_t i = 0; i < sums.shape()[0]; ++i) {
      if (dx.wants(1 + i)) dx.add(1 + i, Tensor<T>(xt::row(sums, std::ptrdiff_t(i))));
    }
  }

  void backward_row(std::size_t row, const T* dy, T* sums, typename Grads<T>::Target target) const {
    const std::size_t n = rows.width;
    const T *in = x->data() + row * n, *w = target ? weight->data() : in;
    const T r = inverse(row);
    if constexpr (kCenters) {
      T *dweight = sums, *dbias = sums + n, *xhat = sums + 2 * n, *g = sums + 3 * n;
      const T first = in[0], m = mean(row);
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
      const auto slope = [=](std::size_t i) {
        add_up(i);
        return g[i] = dy[i] * w[i];
      };
      const T a = detail::sum_terms<T>(n, slope) / T(n), b = detail::dot(g, xhat, n) / T(n);
      target.add(row * n, n, [=](std::size_t i) { return r * (g[i] - a - xhat[i] * b); });
    } else {
      // Runs the same loop whether or not dx is wanted, because the loop decides the last bits of
      // dweight.
      const auto slope = [=](std::size_t i) {
        const T term = dy[i] * (in[i] * r);
        sums[i] += term;
        return term * w[i];
      };
      const T b = detail::sum_terms<T>(n, slope) / T(n);
      if (!target) return;
      target.add(row * n, n, [=](std::size_t i) { return r * (dy[i] * w[i] - in[i] * r * b); });
    }
  }

  double eps;
  RowLayout rows{};
  Saved<T> x, weight;
  Tensor<T> mean;     // of each row, relative to its first element; empty in rms_norm
  Tensor<T> inverse;  // r of each row; 0 where that is infinite
};

// Runs in parallel over blocks of features; sums over rows run in the order of the rows.
template <class T>
struct BatchNorm final : Op<T> {
  BatchNorm(SharedMask mask, double eps) : mask(std::move(mask)), eps(eps) {}
  const char* name() const override { return "batch_norm"; }
  const char* arguments() const override { return "x weight bias"; }

  Value<T> forward(const Inputs<T>& in) override {
    rows = checked_rows(name(), in);
    const Shape places(in[0].shape().begin(), in[0].shape().end() - 1);
    check_shape(!mask || mask->shape() == places, "batch_norm: mask: expected ", places, ", got ",
                mask ? mask->shape() : Shape());
    x = in.save(0);
    if (in.wants(0)) weight = in.save(1);
    mean = zeros<T>({rows.width});
    rstd = zeros<T>({rows.width});
    const auto masked = mask ? std::count(mask->data(), mask->data() + rows.count, 0) : 0;
    count = T(rows.count - std::size_t(masked));
    auto y = as_value<T>(zeros<T>(in[0].shape()));
    const T *w = in[1].data(), *bias = in[2].data();
    parallel_for(rows.width, kBlock, [&](std::size_t begin, std::size_t end) {
      moments(begin, end);
      for_block(begin, end, [&](std::size_t i, std::size_t j) {
        y->data()[i] = w[j] * normalised(i, j) + bias[j];
      });
    });
    return y;
  }

  // Computes mean and rstd of features begin ... end - 1, in two passes, since mean(x^2) - mean^2
  // cancels.
  void moments(std::size_t begin, std::size_t end) {
    if (count == T(0)) return;
    std::vector<detail::Sum<T>> sum(end - begin), square(end - begin);
    for_block(begin, end, [&](std::size_t i, std::size_t j) { sum[j - begin] += x->data()[i]; });
    for (std::size_t j = begin; j < end; ++j) mean(j) = T(sum[j - begin] / count);
    for_block(begin, end, [&](std::size_t i, std::size_t j) {
      const T distance = x->data()[i] - mean(j);
      square[j - begin] += distance * distance;
    });
    for (std::size_t j = begin; j < end; ++j) {
      const T variance = T(square[j - begin] / count) + T(eps);
      rstd(j) = variance == T(0) ? T(0) : T(1) / std::sqrt(variance);
    }
  }

  // As in layer_norm, with means over the unmasked rows of a feature in place of means over the
  // features of a row. With g = weight dy, xhat = r (x - mean), r = (var + eps)^(-1/2):
  //   dx = r (g - mean(g) - xhat mean(g xhat)), dweight = sum dy xhat, dbias = sum dy.
  void backward(Tensor<T>& dy, Grads<T>& dx) const override {
    Tensor<T> d = zeros<T>(dx.wants(0) ? x->shape() : Shape{0}), dweight = zeros<T>({rows.width}),
              dbias = dweight;
    parallel_for(rows.width, kBlock, [&](std::size_t begin, std::size_t end) {
      std::vector<detail::Sum<T>> plain(end - begin), along(end - begin);
      for_block(begin, end, [&](std::size_t i, std::size_t j) {
        plain[j - begin] += dy.data()[i];
        along[j - begin] += dy.data()[i] * normalised(i, j);
      });
      for (std::size_t j = begin; j < end; ++j) {
        dbias(j) = T(plain[j - begin]);
        dweight(j) = T(along[j - begin]);
      }
      if (!dx.wants(0)) return;
      for_block(begin, end, [&](std::size_t i, std::size_t j) {
        d.data()[i] = rstd(j) * weight->data()[j] *
                      (dy.data()[i] - (dbias(j) + normalised(i, j) * dweight(j)) / count);
      });
    });
    dx.add(0, std::move(d));
    dx.add(1, std::move(dweight));
    dx.add(2, std::move(dbias));
  }

  // Calls f(i, j) for each element i of features j in [begin, end), down the unmasked rows. Padding
  // is not read, since it may hold anything.
  template <class F>
  void for_block(std::size_t begin, std::size_t end, const F& f) const {
    for (std::size_t row = 0; row < rows.count; ++row) {
      if (mask && mask->data()[row] == 0) continue;
      for (std::size_t j = begin; j < end; ++j) f(row * rows.width + j, j);
    }
  }

  T normalised(std::size_t i, std::size_t j) const { return rstd(j) * (x->data()[i] - mean(j)); }

  static constexpr std::size_t kBlock = 16;  // features: a cache line of floats
  SharedMask mask;
  double eps;
  RowLayout rows{};
  Saved<T> x, weight;
  T count;               // of unmasked rows
  Tensor<T> mean, rstd;  // (D); rstd is 1 / sqrt(var + eps), or 0 where that is infinite
};

}  // namespace

template <class T>
Variable<T> layer_norm(const Variable<T>& x, const Variable<T>& weight, const Variable<T>& bias,
                       double eps) {
  check_shape(eps >= 0, "layer_norm: expected eps >= 0, got ", eps);
  return apply<T>(std::make_unique<RowNorm<T, true>>(eps), {x, weight, bias});
}

template <class T>
Variable<T> rms_norm(const Variable<T>& x, const Variable<T>& weight, double eps) {
  check_shape(eps >= 0, "rms_norm: expected eps >= 0, got ", eps);
  return apply<T>(std::make_unique<RowNorm<T, false>>(eps), {x, weight});
}

template <class T>
Variable<T> batch_norm(const Variable<T>& x, const Variable<T>& weight, const Variable<T>& bias,
                       const SharedMask& mask, double eps) {
  check_shape(eps >= 0, "batch_norm: expected eps >= 0, got ", eps);
  return apply<T>(std::make_unique<BatchNorm<T>>(mask, eps), {x, weight, bias});
}

#define XGRAD_INSTANTIATE(T)                      \
  template decltype(layer_norm<T>) layer_norm<T>; \
  template decltype(rms_norm<T>) rms_norm<T>;     \
  template decltype(batch_norm<T>) batch_norm<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
