#include <xgrad/autograd/kernels/axes.hpp>
#include <xgrad/autograd/kernels/elementwise.hpp>
#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

namespace {

template <class T>
struct Where final : Op<T> {
  explicit Where(const Mask& condition) : condition(condition) {}
  const char* name() const override { return "where"; }
  const char* arguments() const override { return "x y"; }

  Value<T> forward(const Inputs<T>& in) override {
    const Tensor<T>&x = in[0], &y = in[1];
    const Shape shape =
        broadcast_shape(name(), broadcast_shape(name(), condition.shape(), x.shape()), y.shape());
    auto result = make_value<T>(shape);
    T* out = result->data();
    for_each(std::array{condition.shape(), x.shape(), y.shape()}, shape,
             [&, out](std::size_t i, const auto& at) {
               out[i] = condition.data()[at[0]] != 0 ? x.data()[at[1]] : y.data()[at[2]];
             });
    return result;
  }

  // The result is x where the condition holds, so dx = dresult there and 0 elsewhere; dy is the
  // opposite. Selects instead of multiplying by 0, which would turn an inf into NaN.
  void backward(Tensor<T> dresult, Grads<T>& dx) const override {
    for (const std::size_t input : {0, 1}) {
      if (!dx.wants(input)) continue;
      Tensor<T> d = empty<T>(dresult.shape());
      T* out = d.data();
      for_each(std::array{condition.shape()}, d.shape(), [&, out](std::size_t i, const auto& at) {
        const bool taken = (condition.data()[at[0]] != 0) == (input == 0);
        out[i] = taken ? dresult.data()[i] : T(0);
      });
      dx.add(input, std::move(d));
    }
  }

  // Calls f(i, offsets) in parallel for the elements i of `shape`. `offsets` holds the element's
  // offset in each of K tensors, whose shapes broadcast to `shape`.
  template <std::size_t K, class F>
  static void for_each(const std::array<Shape, K>& shapes, const Shape& shape, const F& f) {
    std::array<detail::Strides, K> strides;
    for (std::size_t k = 0; k < K; ++k) strides[k] = detail::broadcast_strides(shapes[k], shape);
    parallel_for(size_of(shape), detail::kElementGrain, [&](std::size_t begin, std::size_t end) {
      detail::for_each_index(shape, strides, begin, end, f);
    });
  }

  Mask condition;
};

}  // namespace

template <class T>
Variable<T> detail::where(const Mask& condition, const Variable<T>& x, const Variable<T>& y) {
  return apply<T>(std::make_unique<Where<T>>(condition), {x, y});
}

#define XGRAD_INSTANTIATE(T) \
  template Variable<T> detail::where(const Mask&, const Variable<T>&, const Variable<T>&);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
