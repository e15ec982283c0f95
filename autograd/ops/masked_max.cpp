#include <vector>

#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

namespace {

template <class T>
struct MaskedMax final : Op<T> {
  explicit MaskedMax(SharedMask mask) : mask(std::move(mask)) {}
  const char* name() const override { return "masked_max"; }
  const char* arguments() const override { return "x"; }

  Value<T> forward(const Inputs<T>& x) override {
    shape = x[0].shape();
    check_shape(shape.size() == 3, "masked_max: expected (B, N, D), got ", shape);
    check_shape(!mask || mask->shape() == Shape{shape[0], shape[1]}, "masked_max: mask: expected ",
                Shape{shape[0], shape[1]}, ", got ", mask ? mask->shape() : Shape());
    const std::size_t tokens = shape[1], width = shape[2];
    places.assign(shape[0] * width, kNowhere);
    auto y = make_value<T>({shape[0], width});
    std::fill_n(y->data(), y->size(), T(0));
    for (std::size_t n = 0; n < shape[0] * tokens; ++n) {
      if (mask && mask->data()[n] == 0) continue;  // padding may hold anything, so it is not read
      const T* in = x[0].data() + n * width;
      T* out = y->data() + n / tokens * width;
      std::size_t* place = places.data() + n / tokens * width;
      for (std::size_t j = 0; j < width; ++j) {
        // This form finds and keeps NaN.
        if (place[j] != kNowhere && (in[j] <= out[j] || out[j] != out[j])) continue;
        out[j] = in[j];
        place[j] = n;
      }
    }
    return y;
  }

  // y_bj = x_bmj at the m where it is largest, so dx_bmj = dy_bj there, and 0 elsewhere.
  void backward(Tensor<T> dy, Grads<T>& dx) const override {
    const std::size_t width = shape[2];
    Tensor<T> d = zeros<T>(shape);
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (places[i] != kNowhere) d.data()[places[i] * width + i % width] = dy.data()[i];
    }
    dx.add(0, std::move(d));
  }

  static constexpr std::size_t kNowhere = std::size_t(-1);
  SharedMask mask;
  Shape shape;
  std::vector<std::size_t> places;  // (B, D): index among B N tokens of the largest element
};

}  // namespace

template <class T>
Variable<T> masked_max(const Variable<T>& x, const SharedMask& mask) {
  return apply<T>(std::make_unique<MaskedMax<T>>(mask), {x});
}

#define XGRAD_INSTANTIATE(T) template Variable<T> masked_max(const Variable<T>&, const SharedMask&);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
