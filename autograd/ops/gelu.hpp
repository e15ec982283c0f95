// GELU and its derivative, for the ops that use it. Not installed.
#pragma once

#include <numbers>

#include <xgrad/autograd/math.hpp>

namespace xgrad::detail {

/// x Phi(x)
template <class T>
struct GeluExact {
  static T f(T x) { return x * normal_cdf(x); }
  // d/dx x Phi(x) = Phi(x) + x phi(x).
  static T df(T x) { return normal_cdf(x) + x * normal_pdf(x); }
};

/// x/2 (1 + tanh u), u = k (x + c x^3)
template <class T>
struct GeluTanh {
  static constexpr T k = std::numbers::sqrt2_v<T> * std::numbers::inv_sqrtpi_v<T>;
  static constexpr T c = T(0.044715L);

  static T f(T x) { return x / 2 * (T(1) + detail::tanh(k * (x + c * x * x * x))); }
  // (1 + tanh u)/2 + x/2 (1 - tanh^2 u) k (1 + 3 c x^2). Beyond 10 it is 0 or 1 to the last digit,
  // and x^2 would overflow against 1 - tanh^2 u = 0.
  static T df(T x) {
    T v = x < T(-10) ? T(-10) : x;
    v = v > T(10) ? T(10) : v;
    const T t = detail::tanh(k * (v + c * v * v * v));
    return (T(1) + t) / 2 + v / 2 * (T(1) - t * t) * k * (T(1) + 3 * c * v * v);
  }
};

}  // namespace xgrad::detail
