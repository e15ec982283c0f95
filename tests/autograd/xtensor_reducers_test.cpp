// xtensor's reducers, accumulators and norms on values and gradients: a call inside of xtensor must
// not find an op of xgrad by the type of its argument.
#include "support/xtensor.hpp"

namespace xgrad::test {
namespace {

using namespace xgrad;

template <class T>
class XtensorReducers : public testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(XtensorReducers, Scalars);

template <class T>
const Tensor<T> kX = {{3, 1, 2}, {6, 5, 4}};
template <class T>
const Tensor<T> kHoles = {{T(NAN), 1, 2}, {6, T(NAN), 0}};

TYPED_TEST(XtensorReducers, Sums) {
  using T = TypeParam;
  on_value_and_gradient(kX<T>, [](const Tensor<T>& x) {
    EXPECT_TRUE(are(xt::sum(x), {21}));
    EXPECT_EQ(xt::sum(x)(), 21);
    EXPECT_TRUE(are(xt::sum(x, 0), {9, 6, 6}));
    EXPECT_TRUE(are(xt::sum(x, {1}), {6, 15}));
    EXPECT_TRUE(are(xt::prod(x, {1}), {6, 120}));
    EXPECT_EQ(xt::prod(x)(), 720);
    EXPECT_EQ(xt::mean(x)(), T(3.5));
    EXPECT_TRUE(are(xt::mean(x, {0}), {4.5, 3, 3}));
    EXPECT_TRUE(are(xt::mean(x, 1), {2, 5}));
    EXPECT_TRUE(are(xt::sum<double>(x, {0, 1}), {21}));
    EXPECT_TRUE(are(xt::sum(x, {0, 1}, xt::evaluation_strategy::immediate), {21}));
    EXPECT_TRUE(are(xt::mean(x, 1, xt::evaluation_strategy::immediate), {2, 5}));
    const Tensor<T> weights = {{1, 1, 2}, {1, 2, 1}};
    EXPECT_TRUE(are(xt::average(x, weights), {3.5}));
    EXPECT_TRUE(are(xt::average(x, weights, {1}), {2, 5}));
    EXPECT_TRUE(are(xt::variance(x, {1}), {2.0 / 3, 2.0 / 3}));
    EXPECT_TRUE(are(xt::stddev(x, {0}), {1.5, 2, 1}));
    EXPECT_EQ(xt::average(x)(), T(3.5));
    EXPECT_TRUE(are(xt::variance(x), {35.0 / 12}));
    EXPECT_TRUE(are(xt::stddev(x), {1.7078251}));
    EXPECT_TRUE(are(xt::count_nonzero(x), {6}));
    EXPECT_TRUE(are(xt::count_nonzero(x, {0}), {2, 2, 2}));
  });
}

TYPED_TEST(XtensorReducers, Extremes) {
  using T = TypeParam;
  on_value_and_gradient(kX<T>, [](const Tensor<T>& x) {
    EXPECT_EQ(xt::amax(x)(), 6);
    EXPECT_EQ(xt::amin(x)(), 1);
    EXPECT_TRUE(are(xt::amax(x, {1}), {3, 6}));
    EXPECT_TRUE(are(xt::amin(x, {0}), {3, 1, 2}));
    EXPECT_EQ(xt::minmax(x)()[0], 1);
    EXPECT_EQ(xt::minmax(x)()[1], 6);
    EXPECT_EQ(xt::argmax(x)(), 3);
    EXPECT_EQ(xt::argmin(x)(), 1);
    EXPECT_TRUE(are(xt::argmax(x, 1), {0, 0}));
    EXPECT_TRUE(are(xt::argmin(x, 0), {0, 0, 0}));
    EXPECT_TRUE(are(argmax(x, 1), {0, 0}));
  });
}

TYPED_TEST(XtensorReducers, NumbersBesideNaN) {
  using T = TypeParam;
  on_value_and_gradient(kHoles<T>, [](const Tensor<T>& x) {
    EXPECT_EQ(xt::nansum(x)(), 9);
    EXPECT_TRUE(are(xt::nansum(x, {1}), {3, 6}));
    EXPECT_EQ(xt::nanprod(x)(), 0);
    EXPECT_TRUE(are(xt::nanprod(x, {0}), {6, 1, 0}));
    EXPECT_EQ(xt::nanmean(x)(), 2.25);
    EXPECT_TRUE(are(xt::nanmean(x, {1}), {1.5, 3}));
    EXPECT_TRUE(are(xt::nanvar(x), {5.1875}));
    EXPECT_TRUE(are(xt::nanvar(x, {1}), {0.25, 9}));
    EXPECT_TRUE(are(xt::nanstd(x), {2.2776084}));
    EXPECT_TRUE(are(xt::nanstd(x, {1}), {0.5, 3}));
    EXPECT_EQ(xt::nanmin(x)(), 0);
    EXPECT_EQ(xt::nanmax(x)(), 6);
    EXPECT_EQ(xt::count_nonnan(x)(), 4u);
    EXPECT_TRUE(are(xt::nancumsum(x), {0, 1, 3, 9, 9, 9}));
    EXPECT_TRUE(are(xt::nancumprod(x, 1), {1, 1, 2, 6, 6, 0}));
    EXPECT_TRUE(are(xt::nan_to_num(x), {0, 1, 2, 6, 0, 0}));
    EXPECT_TRUE(are(xt::isnan(x), {1, 0, 0, 0, 1, 0}));
  });
}

TYPED_TEST(XtensorReducers, RunningSumsAndDifferences) {
  using T = TypeParam;
  on_value_and_gradient(kX<T>, [](const Tensor<T>& x) {
    EXPECT_TRUE(are(xt::cumsum(x), {3, 4, 6, 12, 17, 21}));
    EXPECT_TRUE(are(xt::cumsum(x, 0), {3, 1, 2, 9, 6, 6}));
    EXPECT_TRUE(are(xt::cumprod(x), {3, 3, 6, 36, 180, 720}));
    EXPECT_TRUE(are(xt::cumprod(x, 1), {3, 3, 6, 6, 30, 120}));
    EXPECT_TRUE(are(xt::diff(x), {-2, 1, -1, -1}));
    EXPECT_TRUE(are(xt::diff(x, 1, 0), {3, 4, 2}));
    EXPECT_TRUE(are(xt::trapz(x), {3.5, 10}));
    EXPECT_TRUE(are(xt::trapz(x, 2.0, 0), {9, 6, 6}));
    EXPECT_TRUE(are(xt::cov(x), {1, 0.5, 0.5, 1}));
  });
}

TYPED_TEST(XtensorReducers, Norms) {
  using T = TypeParam;
  on_value_and_gradient(Tensor<T>{{3, 0, -4}, {0, 0, 2}}, [](const Tensor<T>& x) {
    EXPECT_EQ(xt::norm_l0(x)(), 3u);
    EXPECT_EQ(xt::norm_l1(x)(), 9);
    EXPECT_EQ(xt::norm_sq(x)(), 29);
    EXPECT_TRUE(are(xt::norm_l2(x), {5.3851648}));
    EXPECT_EQ(xt::norm_linf(x)(), 4);
    EXPECT_TRUE(are(xt::norm_lp_to_p(x, 3), {99}));
    EXPECT_TRUE(are(xt::norm_lp(x, 3), {4.6260650}));
    EXPECT_TRUE(are(xt::norm_l0(x, {1}), {2, 1}));
    EXPECT_TRUE(are(xt::norm_l1(x, {1}), {7, 2}));
    EXPECT_TRUE(are(xt::norm_sq(x, {1}), {25, 4}));
    EXPECT_TRUE(are(xt::norm_l2(x, {1}), {5, 2}));
    EXPECT_TRUE(are(xt::norm_linf(x, {0}), {3, 0, 4}));
    EXPECT_TRUE(are(xt::norm_induced_l1(x), {6}));
    EXPECT_TRUE(are(xt::norm_induced_linf(x), {7}));
  });
}

}  // namespace
}  // namespace xgrad::test
