#include <optional>

#include <xgrad/autograd/kernels/rotary.hpp>
#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

namespace {

template <class T>
struct RotaryEmbedding final : Op<T> {
  RotaryEmbedding(std::size_t head_dim, std::size_t heads, double base)
      : head_dim(head_dim), heads(heads), base(base) {}
  const char* name() const override { return "rotary_embedding"; }
  const char* arguments() const override { return "x"; }

  Value<T> forward(const Inputs<T>& in) override {
    const Shape& shape = in[0].shape();
    check_shape(shape.size() == 3 && shape[2] >= heads * head_dim,
                "rotary_embedding: expected (B, N, ", heads * head_dim, " or more), got ", shape);
    rows = shape[0] * shape[1], width = shape[2];
    table.emplace(0, shape[1], head_dim, base);
    auto y = make_value<T>(shape);
    table->rotate(in[0].data(), y->data(), rows, width, heads, T(1));
    return y;
  }

  // The rotation by an angle t is orthogonal, so dx is dy rotated by -t: with y_1 = x_1 cos t -
  // x_2 sin t and y_2 = x_1 sin t + x_2 cos t,
  //   dx_1 = dy_1 cos t + dy_2 sin t, dx_2 = -dy_1 sin t + dy_2 cos t.
  void backward(Tensor<T> dy, Grads<T>& dx) const override {
    table->rotate(dy.data(), dy.data(), rows, width, heads, T(-1));
    dx.add(0, std::move(dy));
  }

  std::size_t head_dim, heads, rows = 0, width = 0;
  double base;
  std::optional<detail::RotaryTable<T>> table;
};

}  // namespace

template <class T>
Variable<T> rotary_embedding(const Variable<T>& x, std::size_t head_dim, std::size_t heads,
                             double base) {
  check_shape(head_dim > 0 && head_dim % 2 == 0,
              "rotary_embedding: expected an even number of features per head, got ", head_dim);
  check_shape(base > 0, "rotary_embedding: expected base > 0, got ", base);
  return apply<T>(std::make_unique<RotaryEmbedding<T>>(head_dim, heads, base), {x});
}

#define XGRAD_INSTANTIATE(T) \
  template Variable<T> rotary_embedding(const Variable<T>&, std::size_t, std::size_t, double);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
