// xtensor's operators and functions on values and gradients, element by element, against <cmath>.
#include "support/xtensor.hpp"

namespace xgrad::test {
namespace {

using namespace xgrad;

template <class T>
class XtensorMath : public testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(XtensorMath, Scalars);

// Whether element (i) is f(x(i)) for the one-dimensional x.
template <class E, class T, class F>
testing::AssertionResult is_each(const E& expression, const Tensor<T>& x, const F& f) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto found = double(expression(i)), wanted = double(f(double(x(i))));
    if (std::abs(found - wanted) > 1e-5 * (1 + std::abs(wanted))) {
      return testing::AssertionFailure() << found << " instead of " << wanted << " at " << x(i);
    }
  }
  return testing::AssertionSuccess();
}

template <class T, class Check>
void on_fractions(const Check& check) {
  on_value_and_gradient(Tensor<T>{T(0.125), T(0.5), T(0.75)}, check);
}
template <class T, class Check>
void on_signed(const Check& check) {
  on_value_and_gradient(Tensor<T>{T(-2.5), T(-0.5), T(1.5)}, check);
}

TYPED_TEST(XtensorMath, Exponentials) {
  using T = TypeParam;
  on_fractions<T>([](const Tensor<T>& x) {
    EXPECT_TRUE(is_each(xt::exp(x), x, [](double v) { return std::exp(v); }));
    EXPECT_TRUE(is_each(xt::exp2(x), x, [](double v) { return std::exp2(v); }));
    EXPECT_TRUE(is_each(xt::expm1(x), x, [](double v) { return std::expm1(v); }));
    EXPECT_TRUE(is_each(xt::log(x), x, [](double v) { return std::log(v); }));
    EXPECT_TRUE(is_each(xt::log2(x), x, [](double v) { return std::log2(v); }));
    EXPECT_TRUE(is_each(xt::log10(x), x, [](double v) { return std::log10(v); }));
    EXPECT_TRUE(is_each(xt::log1p(x), x, [](double v) { return std::log1p(v); }));
    EXPECT_TRUE(is_each(xt::pow(x, T(3)), x, [](double v) { return v * v * v; }));
    EXPECT_TRUE(is_each(xt::pow(x, x), x, [](double v) { return std::pow(v, v); }));
    EXPECT_TRUE(is_each(xt::pow<3>(x), x, [](double v) { return v * v * v; }));
    EXPECT_TRUE(is_each(xt::square(x), x, [](double v) { return v * v; }));
    EXPECT_TRUE(is_each(xt::cube(x), x, [](double v) { return v * v * v; }));
    EXPECT_TRUE(is_each(xt::sqrt(x), x, [](double v) { return std::sqrt(v); }));
    EXPECT_TRUE(is_each(xt::cbrt(x), x, [](double v) { return std::cbrt(v); }));
    EXPECT_TRUE(is_each(xt::hypot(x, T(2) * x), x, [](double v) { return std::sqrt(5.0) * v; }));
  });
}

TYPED_TEST(XtensorMath, TrigonometryAndErrors) {
  using T = TypeParam;
  on_fractions<T>([](const Tensor<T>& x) {
    EXPECT_TRUE(is_each(xt::sin(x), x, [](double v) { return std::sin(v); }));
    EXPECT_TRUE(is_each(xt::cos(x), x, [](double v) { return std::cos(v); }));
    EXPECT_TRUE(is_each(xt::tan(x), x, [](double v) { return std::tan(v); }));
    EXPECT_TRUE(is_each(xt::asin(x), x, [](double v) { return std::asin(v); }));
    EXPECT_TRUE(is_each(xt::acos(x), x, [](double v) { return std::acos(v); }));
    EXPECT_TRUE(is_each(xt::atan(x), x, [](double v) { return std::atan(v); }));
    EXPECT_TRUE(is_each(xt::atan2(x, T(2)), x, [](double v) { return std::atan2(v, 2); }));
    EXPECT_TRUE(is_each(xt::sinh(x), x, [](double v) { return std::sinh(v); }));
    EXPECT_TRUE(is_each(xt::cosh(x), x, [](double v) { return std::cosh(v); }));
    EXPECT_TRUE(is_each(xt::tanh(x), x, [](double v) { return std::tanh(v); }));
    EXPECT_TRUE(is_each(xt::asinh(x), x, [](double v) { return std::asinh(v); }));
    EXPECT_TRUE(is_each(xt::acosh(x + T(1)), x, [](double v) { return std::acosh(v + 1); }));
    EXPECT_TRUE(is_each(xt::atanh(x), x, [](double v) { return std::atanh(v); }));
    EXPECT_TRUE(is_each(xt::erf(x), x, [](double v) { return std::erf(v); }));
    EXPECT_TRUE(is_each(xt::erfc(x), x, [](double v) { return std::erfc(v); }));
    EXPECT_TRUE(is_each(xt::tgamma(x), x, [](double v) { return std::tgamma(v); }));
    EXPECT_TRUE(is_each(xt::lgamma(x), x, [](double v) { return std::lgamma(v); }));
    EXPECT_TRUE(is_each(xt::deg2rad(x), x, [](double v) { return v * M_PI / 180; }));
    EXPECT_TRUE(is_each(xt::rad2deg(x), x, [](double v) { return v * 180 / M_PI; }));
  });
}

TYPED_TEST(XtensorMath, SignsAndRounding) {
  using T = TypeParam;
  on_signed<T>([](const Tensor<T>& x) {
    EXPECT_TRUE(are(xt::abs(x), {2.5, 0.5, 1.5}));
    EXPECT_TRUE(are(xt::fabs(x), {2.5, 0.5, 1.5}));
    EXPECT_TRUE(are(xt::sign(x), {-1, -1, 1}));
    EXPECT_TRUE(are(xt::ceil(x), {-2, 0, 2}));
    EXPECT_TRUE(are(xt::floor(x), {-3, -1, 1}));
    EXPECT_TRUE(are(xt::trunc(x), {-2, 0, 1}));
    EXPECT_TRUE(are(xt::round(x), {-3, -1, 2}));
    EXPECT_TRUE(are(xt::nearbyint(x), {-2, 0, 2}));
    EXPECT_TRUE(are(xt::rint(x), {-2, 0, 2}));
    EXPECT_TRUE(are(xt::fmod(x, T(2)), {-0.5, -0.5, 1.5}));
    EXPECT_TRUE(are(xt::remainder(x, T(2)), {-0.5, -0.5, -0.5}));
    EXPECT_TRUE(are(xt::fma(x, x, x), {3.75, -0.25, 3.75}));
    EXPECT_TRUE(are(xt::maximum(x, T(0)), {0, 0, 1.5}));
    EXPECT_TRUE(are(xt::minimum(x, T(0)), {-2.5, -0.5, 0}));
    EXPECT_TRUE(are(xt::fmax(x, T(0)), {0, 0, 1.5}));
    EXPECT_TRUE(are(xt::fmin(x, T(0)), {-2.5, -0.5, 0}));
    EXPECT_TRUE(are(xt::fdim(x, T(-1)), {0, 0.5, 2.5}));
    EXPECT_TRUE(are(xt::clip(x, T(-1), T(1)), {-1, -0.5, 1}));
    EXPECT_TRUE(are(xt::cast<int>(x), {-2, 0, 1}));
    EXPECT_TRUE(are(cast<double>(x), {-2.5, -0.5, 1.5}));
  });
}

TYPED_TEST(XtensorMath, OperatorsAndComparisons) {
  using T = TypeParam;
  on_signed<T>([](const Tensor<T>& x) {
    EXPECT_TRUE(are(+x, {-2.5, -0.5, 1.5}));
    EXPECT_TRUE(are(-x, {2.5, 0.5, -1.5}));
    EXPECT_TRUE(are(x + x, {-5, -1, 3}));
    EXPECT_TRUE(are(T(1) - x, {3.5, 1.5, -0.5}));
    EXPECT_TRUE(are(x * T(2), {-5, -1, 3}));
    EXPECT_TRUE(are(T(1) / x, {-0.4, -2, 2.0 / 3}));
    EXPECT_TRUE(are(xt::cast<int>(x) % 2, {0, 0, 1}));
    EXPECT_TRUE(are(x < T(0), {1, 1, 0}));
    EXPECT_TRUE(are(x >= T(-0.5), {0, 1, 1}));
    EXPECT_TRUE(are(x < T(0) && x > T(-1), {0, 1, 0}));
    EXPECT_TRUE(are(x > T(0) || x < T(-1), {1, 0, 1}));
    EXPECT_TRUE(are(!(x > T(0)), {1, 1, 0}));
    EXPECT_TRUE(are(xt::equal(x, T(1.5)), {0, 0, 1}));
    EXPECT_TRUE(are(xt::not_equal(x, T(1.5)), {1, 1, 0}));
    EXPECT_TRUE(x == x);
    EXPECT_FALSE(x != x);
    EXPECT_TRUE(are(xt::where(x > T(0), x, T(7)), {7, 7, 1.5}));
    EXPECT_TRUE(xt::any(x > T(0)));
    EXPECT_FALSE(xt::all(x > T(0)));
    EXPECT_TRUE(are(xt::isfinite(x), {1, 1, 1}));
    EXPECT_TRUE(are(xt::isinf(x), {0, 0, 0}));
    EXPECT_TRUE(are(xt::isclose(x, T(1.5)), {0, 0, 1}));
    EXPECT_TRUE(xt::allclose(x, x));
    EXPECT_EQ(xt::nonzero(x)[0], (std::vector<std::size_t>{0, 1, 2}));
    EXPECT_EQ(xt::where(x > T(0))[0], (std::vector<std::size_t>{2}));
    EXPECT_EQ(xt::argwhere(x > T(0)).size(), 1u);
    EXPECT_TRUE(are(xt::vectorize([](T v) { return 2 * v; })(x), {-5, -1, 3}));
  });
}

TYPED_TEST(XtensorMath, AssignmentsAndBuilders) {
  using T = TypeParam;
  on_signed<T>([](const Tensor<T>& x) {
    Tensor<T> y = x;
    y += x;
    y *= T(3);
    y -= T(1);
    y /= T(2);
    EXPECT_TRUE(are(y, {-8, -2, 4}));
    xt::noalias(y) = x + xt::ones<T>({3});
    EXPECT_TRUE(are(y, {-1.5, 0.5, 2.5}));
    y = xt::eval(x * x);
    EXPECT_TRUE(are(y, {6.25, 0.25, 2.25}));
    y = xt::zeros_like(x) + xt::full_like(x, T(2)) + xt::ones_like(x);
    EXPECT_TRUE(are(y, {3, 3, 3}));
    EXPECT_EQ(xt::empty_like(x).size(), 3u);
    y = xt::arange<T>(3) + xt::linspace<T>(0, 1, 3) + xt::zeros<T>({3});
    EXPECT_TRUE(are(y, {0, 1.5, 3}));
    y = zeros<T>({3}) + ones<T>({3}) + full({3}, T(4));
    EXPECT_TRUE(are(y, {5, 5, 5}));
    std::ostringstream text;
    text << x;
    EXPECT_EQ(text.str(), "{-2.5, -0.5,  1.5}");
    xt::random::shuffle(y);
    EXPECT_TRUE(are(y, {5, 5, 5}));
    EXPECT_EQ(xt::random::choice(x, 2).size(), 2u);
  });
}

}  // namespace
}  // namespace xgrad::test
