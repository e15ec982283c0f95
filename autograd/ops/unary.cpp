// Elementwise functions of one tensor, each with its derivative.

#include <cmath>
#include <limits>

#include <xgrad/autograd/kernels/loops.hpp>
#include <xgrad/autograd/kernels/math.hpp>
#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/ops.hpp>

namespace xgrad {

namespace {

// The value that the derivative is computed from. Only this one is kept.
enum class From { input, output, neither };

// y = f(x) and dx = df(dy, v), where v is x or y.
template <From kFrom, class T, class F, class D>
struct Unary final : Op<T> {
  Unary(const char* op, F f, D df) : op(op), f(f), df(df) {}
  const char* name() const override { return op; }
  const char* arguments() const override { return "x"; }

  Value<T> forward(const Inputs<T>& x) override {
    auto y = make_value<T>(x[0].shape());
    const T* in = x[0].data();
    T* out = y->data();
    detail::for_elements(y->size(), [=, f = f](std::size_t i) { out[i] = f(in[i]); });
    if (kFrom == From::input) kept = x.save(0);
    if (kFrom == From::output) kept = Saved<T>(y);
    return y;
  }

  void backward(Tensor<T>& dy, Grads<T>& dx) const override {
    T* d = dy.data();
    const T* v = kFrom == From::neither ? d : kept->data();
    detail::for_elements(dy.size(), [=, df = df](std::size_t i) { d[i] = df(d[i], v[i]); });
    dx.add(0, std::move(dy));
  }

  const char* op;
  F f;
  D df;
  Saved<T> kept;
};

template <From kFrom, class T, class F, class D>
Variable<T> unary(const char* op, const Variable<T>& x, F f, D df) {
  return apply<T>(std::make_unique<Unary<kFrom, T, F, D>>(op, f, df), {x});
}

template <class G, class T>
Variable<T> gelu_by(const Variable<T>& x) {
  return unary<From::input>(
      "gelu", x, [](T v) { return G::f(v); }, [](T dy, T v) { return dy * G::df(v); });
}

}  // namespace

template <class T>
Variable<T> relu(const Variable<T>& x) {
  // y > 0 exactly where x > 0; at the kink the derivative is 0. These forms keep NaN.
  return unary<From::output>(
      "relu", x, [](T v) { return v <= 0 ? T(0) : v; },
      [](T dy, T y) { return dy * (y <= 0 ? T(0) : T(1)); });
}

template <class T>
Variable<T> exp(const Variable<T>& x) {
  // (e^x)' = e^x
  return unary<From::output>(
      "exp", x, [](T v) { return detail::exp(v); }, [](T dy, T y) { return dy * y; });
}

template <class T>
Variable<T> log(const Variable<T>& x) {
  // log' x = 1 / x, which is inf at 0; below 0, function and derivative are NaN.
  return unary<From::input>(
      "log", x, [](T v) { return detail::log(v); },
      [](T dy, T v) { return dy * (v < 0 ? std::numeric_limits<T>::quiet_NaN() : T(1) / v); });
}

template <class T>
Variable<T> sqrt(const Variable<T>& x) {
  // With y = sqrt x: y^2 = x, so 2 y y' = 1; inf at 0.
  return unary<From::output>(
      "sqrt", x, [](T v) { return std::sqrt(v); }, [](T dy, T y) { return dy * (T(0.5) / y); });
}

template <class T>
Variable<T> clamp(const Variable<T>& x, std::type_identity_t<T> min, std::type_identity_t<T> max) {
  check_shape(min <= max, "clamp: expected min <= max, got ", double(min), " and ", double(max));
  // y = x between the bounds, which count as inside, and constant beyond them. f keeps NaN.
  return unary<From::input>(
      "clamp", x, [=](T v) { return v < min   ? min
                                    : v > max ? max
                                              : v; },
      [=](T dy, T v) { return v >= min && v <= max ? dy : T(0); });
}

template <class T>
Variable<T> symlog(const Variable<T>& x) {
  // d/dx sign(x) log(1 + |x|) = sign(x)^2 / (1 + |x|), which is continuous: 1 at 0.
  return unary<From::input>(
      "symlog", x, [](T v) { return std::copysign(detail::log1p(std::abs(v)), v); },
      [](T dy, T v) { return dy / (T(1) + std::abs(v)); });
}

template <class T>
Variable<T> scale(const Variable<T>& x, std::type_identity_t<T> c) {
  return unary<From::neither>(
      "scale", x, [=](T v) { return c * v; }, [=](T dy, T) { return dy * c; });
}

template <class T>
Variable<T> tanh(const Variable<T>& x) {
  // tanh' = 1 - tanh^2, computed as (1 - y)(1 + y), which stays accurate where |y| is near 1.
  return unary<From::output>(
      "tanh", x, [](T v) { return detail::tanh(v); },
      [](T dy, T y) { return dy * ((T(1) - y) * (T(1) + y)); });
}

template <class T>
Variable<T> sigmoid(const Variable<T>& x) {
  // With y = 1 / (1 + e^(-x)): y' = e^(-x) y^2 = y (1 - y).
  return unary<From::output>(
      "sigmoid", x, [](T v) { return T(1) / (T(1) + detail::exp(-v)); },
      [](T dy, T y) { return dy * (y * (T(1) - y)); });
}

template <class T>
Variable<T> silu(const Variable<T>& x) {
  // With s = 1 / (1 + e^(-x)): s' = s (1 - s), so (x s)' = s + x s (1 - s).
  return unary<From::input>(
      "silu", x, [](T v) { return v / (T(1) + detail::exp(-v)); },
      [](T dy, T v) {
        const T s = T(1) / (T(1) + detail::exp(-v));
        return dy * (s * (T(1) + v * (T(1) - s)));
      });
}

template <class T>
Variable<T> gelu(const Variable<T>& x, Gelu kind) {
  return kind == Gelu::exact ? gelu_by<detail::GeluExact<T>>(x) : gelu_by<detail::GeluTanh<T>>(x);
}

#define XGRAD_INSTANTIATE(T)                \
  template decltype(relu<T>) relu<T>;       \
  template decltype(exp<T>) exp<T>;         \
  template decltype(log<T>) log<T>;         \
  template decltype(sqrt<T>) sqrt<T>;       \
  template decltype(clamp<T>) clamp<T>;     \
  template decltype(symlog<T>) symlog<T>;   \
  template decltype(scale<T>) scale<T>;     \
  template decltype(tanh<T>) tanh<T>;       \
  template decltype(sigmoid<T>) sigmoid<T>; \
  template decltype(silu<T>) silu<T>;       \
  template decltype(gelu<T>) gelu<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
