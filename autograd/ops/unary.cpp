// Elementwise functions. Each is a struct with the function and its derivative.

#include <cmath>
#include <limits>

#include <xgrad/autograd/kernels/elementwise.hpp>
#include <xgrad/autograd/kernels/gelu.hpp>
#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

namespace {

// The value that the derivative is computed from. Only this one is kept.
enum class From { input, output };

template <class T>
struct Relu {
  static constexpr const char* kName = "relu";
  static constexpr From kFrom = From::output;
  static T f(T x) { return x <= 0 ? T(0) : x; }  // this form keeps NaN
  // y > 0 exactly where x > 0; at the kink the derivative is 0.
  static T df(T y) { return y <= 0 ? T(0) : T(1); }
};

template <class T>
struct Exp {
  static constexpr const char* kName = "exp";
  static constexpr From kFrom = From::output;
  static T f(T x) { return detail::exp(x); }
  // (e^x)' = e^x
  static T df(T y) { return y; }
};

template <class T>
struct Log {
  static constexpr const char* kName = "log";
  static constexpr From kFrom = From::input;
  static T f(T x) { return detail::log(x); }
  // log' x = 1 / x, which is inf at 0; below 0, function and derivative are NaN.
  static T df(T x) { return x < 0 ? std::numeric_limits<T>::quiet_NaN() : T(1) / x; }
};

template <class T>
struct Sqrt {
  static constexpr const char* kName = "sqrt";
  static constexpr From kFrom = From::output;
  static T f(T x) { return std::sqrt(x); }
  // With y = sqrt x: y^2 = x, so 2 y y' = 1; inf at 0.
  static T df(T y) { return T(0.5) / y; }
};

template <class T>
struct Tanh {
  static constexpr const char* kName = "tanh";
  static constexpr From kFrom = From::output;
  static T f(T x) { return detail::tanh(x); }
  // tanh' = 1 - tanh^2, computed as (1 - y)(1 + y), which stays accurate where |y| is near 1.
  static T df(T y) { return (T(1) - y) * (T(1) + y); }
};

template <class T>
struct Sigmoid {
  static constexpr const char* kName = "sigmoid";
  static constexpr From kFrom = From::output;
  static T f(T x) { return T(1) / (T(1) + detail::exp(-x)); }
  // With y = 1 / (1 + e^(-x)): y' = e^(-x) y^2 = y (1 - y).
  static T df(T y) { return y * (T(1) - y); }
};

template <class T>
struct Silu {
  static constexpr const char* kName = "silu";
  static constexpr From kFrom = From::input;
  static T f(T x) { return x / (T(1) + detail::exp(-x)); }
  // With s = 1 / (1 + e^(-x)): s' = s (1 - s), so (x s)' = s + x s (1 - s).
  static T df(T x) {
    const T s = T(1) / (T(1) + detail::exp(-x));
    return s * (T(1) + x * (T(1) - s));
  }
};

template <class T>
struct GeluExact : detail::GeluExact<T> {
  static constexpr const char* kName = "gelu";
  static constexpr From kFrom = From::input;
};

template <class T>
struct GeluTanh : detail::GeluTanh<T> {
  static constexpr const char* kName = "gelu";
  static constexpr From kFrom = From::input;
};

template <class T, class F>
struct Unary final : Op<T> {
  const char* name() const override { return F::kName; }
  const char* arguments() const override { return "x"; }

  Value<T> forward(const Inputs<T>& x) override {
    auto y = make_value<T>(x[0].shape());
    const T* in = x[0].data();
    T* out = y->data();
    detail::for_elements(y->size(), [=](std::size_t i) { out[i] = F::f(in[i]); });
    kept = F::kFrom == From::input ? x.save(0) : Saved<T>(y);
    return y;
  }

  // y = f(x), so dx = dy f'(x).
  void backward(Tensor<T> dy, Grads<T>& dx) const override {
    const T* v = kept->data();
    T* d = dy.data();
    detail::for_elements(dy.size(), [=](std::size_t i) { d[i] *= F::df(v[i]); });
    dx.add(0, std::move(dy));
  }

  Saved<T> kept;
};

}  // namespace

template <class T>
Variable<T> relu(const Variable<T>& x) {
  return apply<T>(std::make_unique<Unary<T, Relu<T>>>(), {x});
}

template <class T>
Variable<T> exp(const Variable<T>& x) {
  return apply<T>(std::make_unique<Unary<T, Exp<T>>>(), {x});
}

template <class T>
Variable<T> log(const Variable<T>& x) {
  return apply<T>(std::make_unique<Unary<T, Log<T>>>(), {x});
}

template <class T>
Variable<T> sqrt(const Variable<T>& x) {
  return apply<T>(std::make_unique<Unary<T, Sqrt<T>>>(), {x});
}

template <class T>
Variable<T> tanh(const Variable<T>& x) {
  return apply<T>(std::make_unique<Unary<T, Tanh<T>>>(), {x});
}

template <class T>
Variable<T> sigmoid(const Variable<T>& x) {
  return apply<T>(std::make_unique<Unary<T, Sigmoid<T>>>(), {x});
}

template <class T>
Variable<T> silu(const Variable<T>& x) {
  return apply<T>(std::make_unique<Unary<T, Silu<T>>>(), {x});
}

template <class T>
Variable<T> gelu(const Variable<T>& x, Gelu kind) {
  if (kind == Gelu::exact) return apply<T>(std::make_unique<Unary<T, GeluExact<T>>>(), {x});
  return apply<T>(std::make_unique<Unary<T, GeluTanh<T>>>(), {x});
}

#define XGRAD_INSTANTIATE(T)                        \
  template Variable<T> relu(const Variable<T>&);    \
  template Variable<T> exp(const Variable<T>&);     \
  template Variable<T> log(const Variable<T>&);     \
  template Variable<T> sqrt(const Variable<T>&);    \
  template Variable<T> tanh(const Variable<T>&);    \
  template Variable<T> sigmoid(const Variable<T>&); \
  template Variable<T> silu(const Variable<T>&);    \
  template Variable<T> gelu(const Variable<T>&, Gelu);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
