// a + b, a - b, a b, a / b, a^b and where(), with broadcasting. Every backward passes on gradients
// in the result's shape; the engine sums them over broadcast axes.

#include <algorithm>
#include <cmath>

#include <xgrad/autograd/kernels/loops.hpp>
#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/ops.hpp>

namespace xgrad {

namespace {

// Whether b is broadcast along a's leading axes only, as a bias is.
bool is_suffix(const Shape& b, const Shape& a) {
  const auto first = std::find_if(b.begin(), b.end(), [](std::size_t n) { return n != 1; });
  return b.size() <= a.size() && std::equal(first, b.end(), a.end() - (b.end() - first));
}

template <class T, class F>
void broadcast_rows(const Tensor<T>& a, const Tensor<T>& b, const Shape& shape, T* y, F f) {
  const std::size_t width = shape.back();
  const Shape rows(shape.begin(), shape.end() - 1);
  std::array<detail::Strides, 2> strides = {detail::broadcast_strides(a.shape(), shape),
                                            detail::broadcast_strides(b.shape(), shape)};
  const std::size_t step_a = strides[0].back();
  const std::size_t step_b = strides[1].back();
  for (detail::Strides& s : strides) s.pop_back();
  parallel_for(size_of(rows), detail::row_grain(width), [&](std::size_t begin, std::size_t end) {
    detail::for_each_index(rows, strides, begin, end, [&](std::size_t row, const auto& offsets) {
      const T* p = a.data() + offsets[0];
      const T* q = b.data() + offsets[1];
      T* out = y + row * width;
#pragma omp simd
      for (std::size_t j = 0; j < width; ++j) out[j] = f(p[j * step_a], q[j * step_b]);
    });
  });
}

// y = f(a, b) in `shape`, which a and b broadcast to; y may be a's memory if a has that shape.
template <class T, class F>
void broadcast(const Tensor<T>& a, const Tensor<T>& b, const Shape& shape, T* y, F f) {
  const T* p = a.data();
  const T* q = b.data();
  if (a.shape() == b.shape()) {
    detail::for_elements(a.size(), [=](std::size_t i) { y[i] = f(p[i], q[i]); });
  } else if (a.shape() == shape && b.size() == 1) {
    const T same = *q;
    detail::for_elements(a.size(), [=](std::size_t i) { y[i] = f(p[i], same); });
  } else if (a.shape() == shape && b.size() > 0 && is_suffix(b.shape(), shape)) {
    const std::size_t width = b.size();
    const auto block = [=](std::size_t begin, std::size_t end) {
      for (std::size_t row = begin * width; row < end * width; row += width) {
#pragma omp simd
        for (std::size_t j = 0; j < width; ++j) y[row + j] = f(p[row + j], q[j]);
      }
    };
    parallel_for(a.size() / width, detail::row_grain(width), block);
  } else {
    broadcast_rows(a, b, shape, y, f);
  }
}

template <class T>
struct Binary : Op<T> {
  const char* arguments() const override { return "a b"; }

  template <class F>
  Value<T> result(const Inputs<T>& x, F f) const {
    auto y = make_value<T>(broadcast_shape(this->name(), x[0].shape(), x[1].shape()));
    broadcast(x[0], x[1], y->shape(), y->data(), f);
    return y;
  }
};

// a + b, or a - b.
template <class T, bool kMinus>
struct Add final : Binary<T> {
  const char* name() const override { return kMinus ? "sub" : "add"; }

  Value<T> forward(const Inputs<T>& x) override {
    return this->result(x, [](T a, T b) { return kMinus ? a - b : a + b; });
  }

  // da = dy, and db = dy or -dy.
  void backward(Tensor<T>& dy, Grads<T>& dx) const override {
    if (!dx.wants(1)) return dx.add(0, std::move(dy));
    if (dx.wants(0)) dx.add(0, dy);
    T* d = dy.data();
    if (kMinus) detail::for_elements(dy.size(), [d](std::size_t i) { d[i] = -d[i]; });
    dx.add(1, std::move(dy));
  }
};

template <class T>
struct Mul final : Binary<T> {
  const char* name() const override { return "mul"; }

  Value<T> forward(const Inputs<T>& x) override {
    if (x.wants(1)) a = x.save(0);
    if (x.wants(0)) b = x.save(1);
    return this->result(x, product);
  }

  // y = a b, so da = dy b and db = dy a.
  void backward(Tensor<T>& dy, Grads<T>& dx) const override {
    if (dx.wants(0)) {
      Tensor<T> da = empty<T>(dy.shape());
      broadcast(dy, *b, dy.shape(), da.data(), product);
      dx.add(0, std::move(da));
    }
    if (dx.wants(1)) {
      broadcast(dy, *a, dy.shape(), dy.data(), product);
      dx.add(1, std::move(dy));
    }
  }

  static T product(T u, T v) { return u * v; }

  Saved<T> a, b;
};

template <class T>
struct Div final : Binary<T> {
  const char* name() const override { return "div"; }

  Value<T> forward(const Inputs<T>& x) override {
    b = x.save(1);
    const auto result = this->result(x, quotient);
    if (x.wants(1)) y = result;
    return result;
  }

  // y = a / b, so da = dy / b and db = -dy a / b^2 = -y dy / b.
  void backward(Tensor<T>& dy, Grads<T>& dx) const override {
    broadcast(dy, *b, dy.shape(), dy.data(), quotient);
    if (!dx.wants(1)) return dx.add(0, std::move(dy));
    if (dx.wants(0)) dx.add(0, dy);
    T* d = dy.data();
    const T* ratio = y->data();
    detail::for_elements(dy.size(), [=](std::size_t i) { d[i] *= -ratio[i]; });
    dx.add(1, std::move(dy));
  }

  static T quotient(T u, T v) { return u / v; }

  Saved<T> b, y;
};

template <class T>
struct Pow final : Binary<T> {
  const char* name() const override { return "pow"; }

  Value<T> forward(const Inputs<T>& x) override {
    a = x.save(0);
    b = x.save(1);
    const auto result = this->result(x, power);
    if (x.wants(1)) y = result;
    return result;
  }

  // y = a^b = e^(b log a), so da = b a^(b - 1) dy and db = y log(a) dy. Where these formulas fail:
  // a^0 is 1 for every a, so da = 0 where b = 0; 0^b is 0 for every b > 0, so db = 0 where a = 0
  // and b >= 0.
  void backward(Tensor<T>& dy, Grads<T>& dx) const override {
    const auto times_slope = [&](T* d, auto slope) {
      Tensor<T> slopes = empty<T>(dy.shape());
      broadcast(*a, *b, dy.shape(), slopes.data(), slope);
      const T* s = slopes.data();
      detail::for_elements(slopes.size(), [=](std::size_t i) { d[i] *= s[i]; });
    };
    if (dx.wants(0)) {
      Tensor<T> da = dy;
      times_slope(da.data(), [](T u, T v) { return v == 0 ? T(0) : v * power(u, v - 1); });
      dx.add(0, std::move(da));
    }
    if (dx.wants(1)) {
      T* d = dy.data();
      const T* result = y->data();
      detail::for_elements(dy.size(), [=](std::size_t i) { d[i] *= result[i]; });
      times_slope(d, [](T u, T v) { return u == 0 && v >= 0 ? T(0) : detail::log(u); });
      dx.add(1, std::move(dy));
    }
  }

  static T power(T u, T v) { return detail::pow(u, v); }

  Saved<T> a, b, y;
};

template <class T>
struct Where final : Op<T> {
  explicit Where(const Mask& condition) : condition(condition) {}
  const char* name() const override { return "where"; }
  const char* arguments() const override { return "x y"; }

  Value<T> forward(const Inputs<T>& in) override {
    broadcast_shape(name(), broadcast_shape(name(), condition.shape(), in[0].shape()),
                    in[1].shape());
    return as_value<T>(xt::where(xt::not_equal(condition, 0), in[0], in[1]));
  }

  // The result is x where the condition holds, so dx = dresult there and 0 elsewhere; dy is the
  // opposite. Selects instead of multiplying by 0, which would turn an inf into NaN.
  void backward(Tensor<T>& dresult, Grads<T>& dx) const override {
    if (dx.wants(0)) dx.add(0, xt::where(xt::not_equal(condition, 0), dresult, T(0)));
    if (dx.wants(1)) dx.add(1, xt::where(xt::not_equal(condition, 0), T(0), dresult));
  }

  Mask condition;
};

}  // namespace

template <class T>
Variable<T> add(const Variable<T>& a, const Variable<T>& b) {
  return apply<T>(std::make_unique<Add<T, false>>(), {a, b});
}

template <class T>
Variable<T> sub(const Variable<T>& a, const Variable<T>& b) {
  return apply<T>(std::make_unique<Add<T, true>>(), {a, b});
}

template <class T>
Variable<T> mul(const Variable<T>& a, const Variable<T>& b) {
  return apply<T>(std::make_unique<Mul<T>>(), {a, b});
}

template <class T>
Variable<T> div(const Variable<T>& a, const Variable<T>& b) {
  return apply<T>(std::make_unique<Div<T>>(), {a, b});
}

template <class T>
Variable<T> pow(const Variable<T>& a, const Variable<T>& b) {
  return apply<T>(std::make_unique<Pow<T>>(), {a, b});
}

template <class T>
Variable<T> detail::where(const Mask& condition, const Variable<T>& x, const Variable<T>& y) {
  return apply<T>(std::make_unique<Where<T>>(condition), {x, y});
}

#define XGRAD_INSTANTIATE(T)        \
  template decltype(add<T>) add<T>; \
  template decltype(sub<T>) sub<T>; \
  template decltype(mul<T>) mul<T>; \
  template decltype(div<T>) div<T>; \
  template decltype(pow<T>) pow<T>; \
  template decltype(detail::where<T>) detail::where<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
