#include <xgrad/autograd/portable_math.hpp>

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>

namespace xgrad::portable {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// A number of about 106 bits: hi + lo, where |lo| is at most half an ulp of hi.
struct Double2 {
  double hi, lo;
};

// a + b, exactly (Knuth).
Double2 sum(double a, double b) {
  const double s = a + b, part = s - a;
  return {s, (a - (s - part)) + (b - part)};
}

// a b, exactly (Dekker), for |a| and |b| below 2^996.
Double2 product(double a, double b) {
  const auto high = [](double x) {
    const double t = 134217729.0 * x;  // 2^27 + 1
    return t - (t - x);
  };
  const double p = a * b, ah = high(a), bh = high(b), al = a - ah, bl = b - bh;
  return {p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
}

// c[0] + c[1] x + ... (Horner).
template <std::size_t n>
double polynomial(const std::array<double, n>& c, double x) {
  double y = c[n - 1];
  for (std::size_t i = n - 1; i-- > 0;) y = y * x + c[i];
  return y;
}

// The coefficients f(0), f(1), ... of a series.
template <std::size_t n, class F>
constexpr std::array<double, n> series(F f) {
  std::array<double, n> c{};
  for (std::size_t k = 0; k < n; ++k) c[k] = f(double(k));
  return c;
}

constexpr double inverse_factorial(double k) {
  return k < 2 ? 1 : inverse_factorial(k - 1) / k;
}

// 2^n for -1022 <= n <= 1023.
double power_of_2(std::int64_t n) {
  return std::bit_cast<double>(std::uint64_t(n + 1023) << 52);
}

// ln 2: the product of the first part with an integer below 2^20 is exact.
constexpr Double2 kLn2 = {0x1.62e42feep-1, 0x1.a39ef35793c76p-33};

// x = n ln 2 + r with |r| <= ln(2) / 2, and e^r - 1 = r + r^2 (1/2! + r/3! + ...) = r + rest.
struct Reduced {
  std::int64_t n;
  double r, rest;

  explicit Reduced(Double2 x) : n(std::int64_t(std::nearbyint(x.hi / std::numbers::ln2))) {
    static constexpr auto kTerms = series<13>([](double k) { return inverse_factorial(k + 2); });
    const Double2 exact = sum(x.hi - double(n) * kLn2.hi, x.lo - double(n) * kLn2.lo);
    r = exact.hi;
    rest = r * r * polynomial(kTerms, r) + exact.lo * (1 + r);
  }
};

double exp(Double2 x) {
  if (!(x.hi < 709.79)) return x.hi + kInfinity;  // NaN stays NaN
  if (x.hi < -745.2) return 0;
  const Reduced e(x);
  const Double2 y = sum(1, e.r);
  // 2^n alone may be out of range where the result is not.
  return (y.hi + (y.lo + e.rest)) * power_of_2(e.n / 2) * power_of_2(e.n - e.n / 2);
}

// The logarithm of x + lo, for a normal x > 0 and |lo| <= ulp(x) / 2. With x = 2^k m, f = m - 1 and
// s = f / (2 + f), log m = 2 artanh s = 2 s (1 + s^2/3 + s^4/5 + ...). The first two terms are
// computed to 106 bits.
Double2 log_of(double x, double lo = 0) {
  static constexpr auto kTerms = series<12>([](double k) { return 1 / (2 * k + 5); });
  constexpr Double2 kThird = {1.0 / 3, 0x1.5555555555555p-56};
  constexpr auto kLowest = std::bit_cast<std::int64_t>(std::numbers::sqrt2 / 2);  // of m
  const auto bits = std::bit_cast<std::int64_t>(x);
  const std::int64_t exponent = (bits - kLowest) >> 52;
  const double m = std::bit_cast<double>(bits - (exponent << 52));
  const double low = lo == 0 ? 0 : lo * power_of_2(-exponent);
  const double f = m - 1;
  const Double2 divisor = sum(2, f);
  Double2 s = {f / divisor.hi, 0};
  const Double2 back = product(s.hi, divisor.hi);
  s.lo = (((f - back.hi) - back.lo) - s.hi * (divisor.lo + low) + low) / divisor.hi;
  Double2 z = product(s.hi, s.hi);
  z.lo += 2 * s.hi * s.lo;
  Double2 third = product(z.hi, kThird.hi);
  third.lo += z.hi * kThird.lo + z.lo * kThird.hi;
  const Double2 w = sum(third.hi, z.hi * z.hi * polynomial(kTerms, z.hi));
  Double2 more = product(s.hi, w.hi);
  more.lo += s.hi * (w.lo + third.lo) + s.lo * w.hi;
  const Double2 half = sum(s.hi, more.hi);
  const Double2 result = sum(double(exponent) * kLn2.hi, 2 * half.hi);
  return sum(result.hi,
             result.lo + (2 * (half.lo + (more.lo + s.lo)) + double(exponent) * kLn2.lo));
}

// log_of() for any x > 0.
Double2 log_of_positive(double x) {
  if (x >= std::numeric_limits<double>::min()) return log_of(x);
  Double2 result = log_of(x * 0x1p54);
  const Double2 hi = sum(-54 * kLn2.hi, result.hi);
  return sum(hi.hi, hi.lo + (result.lo - 54 * kLn2.lo));
}

// x = n pi/2 + r with |r| <= pi/4, and n modulo 4.
struct Angle {
  unsigned quarter;
  Double2 r;

  explicit Angle(double x) {
    const double n = std::nearbyint(x / (std::numbers::pi / 2));
    const Double2 first = product(n, 0x1.921fb54442d18p+0),
                  second = product(n, 0x1.1a62633145c07p-54);
    const Double2 a = sum(x - first.hi, -first.lo), b = sum(a.hi, -second.hi);
    r = sum(b.hi, a.lo + b.lo - second.lo + n * 0x1.f1976b7ed8fbcp-110);
    quarter = unsigned(std::int64_t(n)) & 3;
  }
};

double sine(Double2 r) {
  static constexpr auto kTerms =
      series<8>([](double k) { return (int(k) % 2 ? 1 : -1) * inverse_factorial(2 * k + 3); });
  const double z = r.hi * r.hi;
  return r.hi + (r.hi * z * polynomial(kTerms, z) + r.lo * (1 - z / 2));
}

double cosine(Double2 r) {
  static constexpr auto kTerms =
      series<8>([](double k) { return (int(k) % 2 ? -1 : 1) * inverse_factorial(2 * k + 4); });
  const double z = r.hi * r.hi, first = 1 - z / 2;
  return first + (((1 - first) - z / 2) + (z * z * polynomial(kTerms, z) - r.hi * r.lo));
}

// The sine of x + shift pi/2.
double sine_of_shifted(double x, unsigned shift) {
  if (!(std::abs(x) < 1e15)) return kNaN;
  const Angle a(x);
  const unsigned quarter = (a.quarter + shift) & 3;
  const double y = quarter & 1 ? cosine(a.r) : sine(a.r);
  return quarter & 2 ? -y : y;
}

}  // namespace

double exp(double x) {
  return exp(Double2{x, 0});
}

double exp2(double x) {
  if (!(std::abs(x) < 1100)) return x < 0 ? 0 : x + kInfinity;
  Double2 y = product(x, std::numbers::ln2);
  y.lo += x * 0x1.abc9e3b39803fp-56;
  return exp(y);
}

double log(double x) {
  if (!(x > 0)) return x == 0 ? -kInfinity : kNaN;
  return x == kInfinity ? x : log_of_positive(x).hi;
}

double log1p(double x) {
  if (!(x > -1)) return x == -1 ? -kInfinity : kNaN;
  if (std::abs(x) < 0x1p-54 || x == kInfinity) return x;
  const Double2 y = sum(1, x);
  return log_of(y.hi, y.lo).hi;
}

double pow(double x, double y) {
  if (y == 0 || x == 1) return 1;
  if (std::isnan(x) || std::isnan(y)) return kNaN;
  const bool odd = std::fmod(std::abs(y), 2) == 1;
  const double sign = std::signbit(x) && odd ? -1 : 1, a = std::abs(x);
  if (a == 0 || a == kInfinity) return sign * ((a == 0) == (y < 0) ? kInfinity : 0);
  if (std::isinf(y)) return a == 1 ? 1 : (a > 1) == (y > 0) ? kInfinity : 0;
  if (x < 0 && y != std::nearbyint(y)) return kNaN;
  const Double2 log = log_of_positive(a);
  if (!(std::abs(y * log.hi) < 750)) return sign * ((y < 0) == (a < 1) ? kInfinity : 0);
  Double2 power = product(y, log.hi);
  power.lo += y * log.lo;
  return sign * exp(power);
}

double sin(double x) {
  return x == 0 ? x : sine_of_shifted(x, 0);
}

double cos(double x) {
  return sine_of_shifted(x, 1);
}

// With t = e^(2 |x|) - 1, tanh |x| = t / (t + 2).
double tanh(double x) {
  const double a = std::abs(x);
  if (!(a < 22)) return std::isnan(x) ? x : std::copysign(1, x);
  const Reduced e({2 * a, 0});
  const double power = power_of_2(e.n), t = power * (e.r + e.rest) + (power - 1);
  return std::copysign(t / (t + 2), x);
}

// Up to 1 the Taylor series x (c_0 + c_1 x^2 + ...) with c_k = 2/sqrt(pi) (-1)^k / (k! (2k + 1));
// above, 1 - erfc x, where e^(x^2) erfc x is a polynomial of 14.4 / (x + 3) - 2.6 (Chebyshev, error
// 1e-19).
double erf(double x) {
  static constexpr auto kTaylor = series<20>([](double k) {
    return 2 * std::numbers::inv_sqrtpi * (int(k) % 2 ? -1 : 1) * inverse_factorial(k) /
           (2 * k + 1);
  });
  static constexpr std::array kScaled = {
      0.20798329133342885,    0.15436117429436919,     0.04969844540339479,
      0.012713147695691885,   0.0024793146970725098,   0.00033160296057999636,
      1.9563583307623115e-05, -2.4255574907734528e-06, -5.54127740980289e-07,
      4.5267543775640776e-09, 1.134025497326978e-08,   2.637274148620311e-10,
      -2.580898475430029e-10, -5.964757357313207e-12,  6.711640674248828e-12,
      -4.17650240397811e-14,  -1.6689308894979641e-13, 8.766844618747572e-15};
  const double a = std::abs(x);
  if (a < 1) return x * polynomial(kTaylor, x * x);
  if (!(a < 6)) return std::isnan(x) ? x : std::copysign(1, x);
  return std::copysign(1 - exp(-a * a) * polynomial(kScaled, 14.4 / (a + 3) - 2.6), x);
}

}  // namespace xgrad::portable
