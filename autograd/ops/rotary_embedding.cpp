#include <algorithm>

#include <xgrad/autograd/kernels/loops.hpp>
#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/portable_math.hpp>

namespace xgrad {

namespace {

template <class T>
struct RotaryEmbedding final : Op<T> {
  RotaryEmbedding(std::size_t head_dim, std::size_t heads, double base, std::size_t first)
      : head_dim(head_dim), heads(heads), first(first), base(base) {}
  const char* name() const override { return "rotary_embedding"; }
  const char* arguments() const override { return "x"; }

  Value<T> forward(const Inputs<T>& in) override {
    const Shape& shape = in[0].shape();
    check_shape(shape.size() == 3 && shape[2] >= heads * head_dim,
                "rotary_embedding: expected (B, N, ", heads * head_dim, " or more), got ", shape);
    fill_table(shape[1]);
    auto y = make_value<T>(shape);
    rotate(in[0], *y, T(1));
    return y;
  }

  // The rotation by an angle t is orthogonal, so dx is dy rotated by -t: with y_1 = x_1 cos t -
  // x_2 sin t and y_2 = x_1 sin t + x_2 cos t,
  //   dx_1 = dy_1 cos t + dy_2 sin t, dx_2 = -dy_1 sin t + dy_2 cos t.
  void backward(Tensor<T>& dy, Grads<T>& dx) const override {
    rotate(dy, dy, T(-1));
    dx.add(0, std::move(dy));
  }

  // Computes angles in double for every scalar type, so that all differentiate the same function.
  void fill_table(std::size_t tokens) {
    table = empty<T>({tokens, head_dim});
    for (std::size_t i = 0; i < head_dim; i += 2) {
      const double step = portable::pow(base, -double(i) / double(head_dim));
      for (std::size_t n = 0; n < tokens; ++n) {
        table(n, i) = T(portable::cos(double(first + n) * step));
        table(n, i + 1) = T(portable::sin(double(first + n) * step));
      }
    }
  }

  // y = x, rotated forwards (sign 1) or back (-1); they may be the same.
  void rotate(const Tensor<T>& x, Tensor<T>& y, T sign) const {
    if (x.size() == 0) return;
    const detail::RowLayout rows = detail::rows_of(name(), x.shape());
    detail::for_each_row(rows, [&](std::size_t row) {
      const T* turn = table.data() + row / rows.width % table.shape()[0] * head_dim;
      const T* in = x.data() + row;
      T* out = y.data() + row;
      for (std::size_t h = 0; h < heads; ++h, in += head_dim, out += head_dim) {
#pragma omp simd
        for (std::size_t i = 0; i < head_dim; i += 2) {
          const T a = in[i], b = in[i + 1], c = turn[i], s = sign * turn[i + 1];
          out[i] = a * c - b * s;
          out[i + 1] = a * s + b * c;
        }
      }
      if (out != in) std::copy_n(in, rows.width - heads * head_dim, out);
    });
  }

  std::size_t head_dim, heads, first;
  double base;
  Tensor<T> table;  // (tokens, head_dim): cosines and sines of the angles of each pair of features
};

}  // namespace

template <class T>
Variable<T> rotary_embedding(const Variable<T>& x, std::size_t head_dim, std::size_t heads,
                             double base, std::size_t first) {
  check_shape(head_dim > 0 && head_dim % 2 == 0,
              "rotary_embedding: expected an even number of features per head, got ", head_dim);
  check_shape(base > 0, "rotary_embedding: expected base > 0, got ", base);
  return apply<T>(std::make_unique<RotaryEmbedding<T>>(head_dim, heads, base, first), {x});
}

#define XGRAD_INSTANTIATE(T) template decltype(rotary_embedding<T>) rotary_embedding<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
