#include <algorithm>
#include <cmath>
#include <vector>

#include <xgrad/autograd/kernels/rows.hpp>
#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/parallel.hpp>
#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

namespace {

using detail::RowLayout;

// Runs in parallel over blocks of features; sums over rows run in the order of the rows.
template <class T>
struct BatchNorm final : Op<T> {
  BatchNorm(SharedMask mask, double eps) : mask(std::move(mask)), eps(eps) {}
  const char* name() const override { return "batch_norm"; }
  const char* arguments() const override { return "x weight bias"; }

  Value<T> forward(const Inputs<T>& in) override {
    check_inputs(in);
    x = in.save(0);
    if (in.wants(0)) weight = in.save(1);
    mean = zeros<T>({rows.width});
    rstd = zeros<T>({rows.width});
    auto y = make_value<T>(in[0].shape());
    std::fill_n(y->data(), y->size(), T(0));
    const T *w = in[1].data(), *bias = in[2].data();
    for_features([&](std::size_t begin, std::size_t end) {
      moments(begin, end);
      for_rows([&](std::size_t row) {
        for (std::size_t j = begin; j < end; ++j) {
          y->data()[row * rows.width + j] = w[j] * normalised(row, j) + bias[j];
        }
      });
    });
    return y;
  }

  void check_inputs(const Inputs<T>& in) {
    rows = detail::rows_of("batch_norm", in[0].shape());
    const Shape features{rows.width};
    for (const std::size_t i : {1, 2}) {
      check_shape(in[i].shape() == features, "batch_norm: ", i == 1 ? "weight" : "bias",
                  ": expected ", features, ", got ", in[i].shape());
    }
    const Shape places(in[0].shape().begin(), in[0].shape().end() - 1);
    check_shape(!mask || mask->shape() == places, "batch_norm: mask: expected ", places, ", got ",
                mask ? mask->shape() : Shape());
  }

  // Computes mean and rstd of features begin ... end - 1, in two passes, since mean(x^2) - mean^2
  // cancels.
  void moments(std::size_t begin, std::size_t end) {
    std::vector<detail::Sum<T>> sum(end - begin), square(end - begin);
    std::size_t count = 0;
    for_rows([&](std::size_t row) {
      ++count;
      for (std::size_t j = begin; j < end; ++j) sum[j - begin] += at(row, j);
    });
    if (count == 0) return;
    for (std::size_t j = begin; j < end; ++j) mean(j) = T(sum[j - begin] / T(count));
    for_rows([&](std::size_t row) {
      for (std::size_t j = begin; j < end; ++j) {
        const T distance = at(row, j) - mean(j);
        square[j - begin] += distance * distance;
      }
    });
    for (std::size_t j = begin; j < end; ++j) {
      const T variance = T(square[j - begin] / T(count)) + T(eps);
      rstd(j) = variance == T(0) ? T(0) : T(1) / std::sqrt(variance);
    }
  }

  // As in layer_norm, with means over the unmasked rows of a feature in place of means over the
  // features of a row. With g = weight dy, xhat = r (x - mean), r = (var + eps)^(-1/2):
  //   dx = r (g - mean(g) - xhat mean(g xhat)), dweight = sum dy xhat, dbias = sum dy.
  void backward(Tensor<T> dy, Grads<T>& dx) const override {
    Tensor<T> d = zeros<T>(dx.wants(0) ? x->shape() : Shape{0}), dweight = zeros<T>({rows.width}),
              dbias = dweight;
    for_features([&](std::size_t begin, std::size_t end) {
      std::vector<detail::Sum<T>> plain(end - begin), along(end - begin);
      std::size_t count = 0;
      for_rows([&](std::size_t row) {
        ++count;
        for (std::size_t j = begin; j < end; ++j) {
          const T slope = dy.data()[row * rows.width + j];
          plain[j - begin] += slope;
          along[j - begin] += slope * normalised(row, j);
        }
      });
      for (std::size_t j = begin; j < end; ++j) {
        dbias(j) = T(plain[j - begin]);
        dweight(j) = T(along[j - begin]);
      }
      if (!dx.wants(0)) return;
      for_rows([&](std::size_t row) {
        for (std::size_t j = begin; j < end; ++j) {
          const std::size_t i = row * rows.width + j;
          d.data()[i] = rstd(j) * weight->data()[j] *
                        (dy.data()[i] - (dbias(j) + normalised(row, j) * dweight(j)) / T(count));
        }
      });
    });
    dx.add(0, std::move(d));
    dx.add(1, std::move(dweight));
    dx.add(2, std::move(dbias));
  }

  template <class F>
  void for_features(const F& f) const {
    constexpr std::size_t kBlock = 16;  // a cache line of floats
    parallel_for(rows.width, kBlock, f);
  }

  // Calls f for unmasked rows. Padding is not read, since it may hold anything.
  template <class F>
  void for_rows(const F& f) const {
    for (std::size_t row = 0; row < rows.count; ++row) {
      if (!mask || mask->data()[row] != 0) f(row);
    }
  }

  T at(std::size_t row, std::size_t j) const { return x->data()[row * rows.width + j]; }
  T normalised(std::size_t row, std::size_t j) const { return rstd(j) * (at(row, j) - mean(j)); }

  SharedMask mask;
  double eps;
  RowLayout rows{};
  Saved<T> x, weight;
  Tensor<T> mean, rstd;  // (D); rstd is 1 / sqrt(var + eps), or 0 where that is infinite
};

}  // namespace

template <class T>
Variable<T> batch_norm(const Variable<T>& x, const Variable<T>& weight, const Variable<T>& bias,
                       const SharedMask& mask, double eps) {
  check_shape(eps >= 0, "batch_norm: expected eps >= 0, got ", eps);
  return apply<T>(std::make_unique<BatchNorm<T>>(mask, eps), {x, weight, bias});
}

#define XGRAD_INSTANTIATE(T)                                                                  \
  template Variable<T> batch_norm(const Variable<T>&, const Variable<T>&, const Variable<T>&, \
                                  const SharedMask&, double);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
