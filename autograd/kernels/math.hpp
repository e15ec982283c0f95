// Elementary functions for kernels, with the same bits on every processor; and GELU. Internal.
//
// For float, exp, tanh, erf and GELU have no branches and no calls, so that the compiler vectorises
// loops over them. The other functions of float compute in double and round the result. For double,
// accuracy matters more than speed, so its functions are those in portable_math.hpp. Functions of
// long double, for gradcheck only, call the C library.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

#include <xgrad/autograd/portable_math.hpp>

namespace xgrad::detail {

using portable::erf, portable::exp, portable::log, portable::log1p, portable::pow, portable::tanh;

/// e^x. For float: relative error below 2e-7 from -86.9 to 88.72, where float overflows; 0 below,
/// inf above; NaN stays NaN.
inline float exp(float x) {
  // x = n ln 2 + r, |r| <= ln(2)/2; e^r by the minimax polynomial of Cephes' expf. An integer
  // minimum, without a branch, limits n. x itself is not limited: if x is NaN, so are r and e^x.
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  constexpr auto kMost = std::bit_cast<std::int32_t>(kRound + 128.0f);
  const auto bits = std::bit_cast<std::int32_t>(x * 1.44269504088896341f + kRound);
  const std::int32_t shifted = bits < kMost ? bits : kMost;
  const float n = std::bit_cast<float>(shifted) - kRound;
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  // Multiplies by 2^(n-1) and 2, since 2^n may overflow where the result does not.
  const std::uint32_t half = (std::uint32_t(shifted) << 23) + 0x3f000000u;
  const float y = p * std::bit_cast<float>(half) * 2.0f;
  return x < -86.9f ? 0.0f : y;
}
inline long double exp(long double x) {
  return std::exp(x);
}

/// tanh x. For float: absolute error below 2e-7.
inline float tanh(float x) {
  const float a = std::abs(x);
  const float e = detail::exp(-2.0f * a);
  const float large = (1.0f - e) / (1.0f + e);
  const float s = x * x;  // near zero, 1 - e loses digits; Cephes' polynomial does not
  float p = -5.70498872745e-3f;
  p = p * s + 2.06390887954e-2f;
  p = p * s - 5.37397155531e-2f;
  p = p * s + 1.33314422036e-1f;
  p = p * s - 3.33332819422e-1f;
  const float small = x + x * s * p;
  return a < 0.625f ? small : std::copysign(large, x);
}
inline long double tanh(long double x) {
  return std::tanh(x);
}

/// erf x. For float: absolute error below 4e-7.
inline float erf(float x) {
  // x P(x^2) / Q(x^2) on [-4, 4], with Eigen's coefficients. Outside this interval, |erf| is 1 in
  // float.
  const float c = x * x > 16.0f ? std::copysign(4.0f, x) : x;
  const float s = c * c;
  float p = -2.72614225801306e-10f;
  p = p * s + 2.77068142495902e-08f;
  p = p * s - 2.10102402082508e-06f;
  p = p * s - 5.69250639462346e-05f;
  p = p * s - 7.34990630326855e-04f;
  p = p * s - 2.95459980854025e-03f;
  p = p * s - 1.60960333262415e-02f;
  float q = -1.45660718464996e-05f;
  q = q * s - 2.13374055278905e-04f;
  q = q * s - 1.68282697438203e-03f;
  q = q * s - 7.37332916720468e-03f;
  q = q * s - 1.42647390514189e-02f;
  return c * p / q;
}
inline long double erf(long double x) {
  return std::erf(x);
}

/// The natural logarithm. For float: error below 0.501 ulp; NaN below 0, -inf at 0.
inline float log(float x) {
  if (!(x > 0 && x < std::numeric_limits<float>::infinity())) return float(portable::log(x));
  // x = 2^k m; with s = (m - 1) / (m + 1), log m = 2 s (1 + s^2/3 + s^4/5 + ...), in double.
  constexpr auto kLowest = std::bit_cast<std::int64_t>(std::numbers::sqrt2 / 2);  // lowest m
  const auto bits = std::bit_cast<std::int64_t>(double(x));
  const std::int64_t k = (bits - kLowest) >> 52;
  const double m = std::bit_cast<double>(bits - (k << 52));
  const double s = (m - 1) / (m + 1), z = s * s;
  double p = 1.0 / 19;
  for (int n = 17; n > 1; n -= 2) p = p * z + 1.0 / n;
  return float(double(k) * std::numbers::ln2 + (2 * s + 2 * s * z * p));
}
inline long double log(long double x) {
  return std::log(x);
}

/// log(1 + x).
inline float log1p(float x) {
  return float(portable::log1p(x));
}
inline long double log1p(long double x) {
  return std::log1p(x);
}

/// x^y.
inline float pow(float x, float y) {
  return float(portable::pow(x, y));
}
inline long double pow(long double x, long double y) {
  return std::pow(x, y);
}

/// The standard normal distribution function Phi(x).
template <class T>
inline T normal_cdf(T x) {
  return T(0.5) * (T(1) + detail::erf(x * (std::numbers::sqrt2_v<T> / 2)));
}

/// The standard normal density phi(x).
template <class T>
inline T normal_pdf(T x) {
  constexpr T scale = std::numbers::inv_sqrtpi_v<T> / std::numbers::sqrt2_v<T>;
  return scale * detail::exp(T(-0.5) * x * x);
}

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
  // [-10, 10]: beyond, the derivative is less than 1e-35 from 0 or 1, and x^2 could overflow.
  static T df(T x) {
    T v = x < T(-10) ? T(-10) : x;
    v = v > T(10) ? T(10) : v;
    const T s = gate(v);
    return s + 2 * v * s * (T(1) - s) * k * (T(1) + 3 * c * v * v);
  }
};

}  // namespace xgrad::detail
