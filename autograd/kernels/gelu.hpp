// GELU and its derivative. Internal.
#pragma once

#include <numbers>

#include <xgrad/autograd/kernels/math.hpp>

namespace xgrad::detail {

/// Exact GELU: x Phi(x).
template <class T>
struct GeluExact {
  static T f(T x) { return x * normal_cdf(x); }
  // d/dx x Phi(x) = Phi(x) + x phi(x).
  static T df(T x) { return normal_cdf(x) + x * normal_pdf(x); }
};

/// GELU by tanh: x/2 (1 + tanh u), u = k (x + c x^3). Computed as x s, s = 1 / (1 + e^(-2u)), which
/// takes half the work.
template <class T>
struct GeluTanh {
  static constexpr T k = std::numbers::sqrt2_v<T> * std::numbers::inv_sqrtpi_v<T>;
  static constexpr T c = T(0.044715L);

  static T gate(T x) { return T(1) / (T(1) + detail::exp(-2 * k * (x + c * x * x * x))); }
  static T f(T x) { return x * gate(x); }
  // ds/du = 2 s (1 - s), so the derivative is s + 2 x s (1 - s) k (1 + 3 c x^2). x is clamped to
  // [-10, 10]: beyond, the derivative is 0 or 1 to the last digit, and x^2 could overflow.
  static T df(T x) {
    T v = x < T(-10) ? T(-10) : x;
    v = v > T(10) ? T(10) : v;
    const T s = gate(v);
    return s + 2 * v * s * (T(1) - s) * k * (T(1) + 3 * c * v * v);
  }
};

}  // namespace xgrad::detail
