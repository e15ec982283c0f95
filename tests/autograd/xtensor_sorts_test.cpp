// xtensor's sorts, sets and histograms on values and gradients.
#include "support/xtensor.hpp"

namespace xgrad::test {
namespace {

using namespace xgrad;

template <class T>
class XtensorSorts : public testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(XtensorSorts, Scalars);

TYPED_TEST(XtensorSorts, Orders) {
  using T = TypeParam;
  on_value_and_gradient(Tensor<T>{{3, 1, 2}, {6, 5, 4}}, [](const Tensor<T>& x) {
    EXPECT_TRUE(are(xt::sort(x), {1, 2, 3, 4, 5, 6}));
    EXPECT_TRUE(are(xt::sort(x, 0), {3, 1, 2, 6, 5, 4}));
    EXPECT_TRUE(are(xt::sort(x, xt::xnone()), {1, 2, 3, 4, 5, 6}));
    EXPECT_TRUE(are(xt::argsort(x), {1, 2, 0, 2, 1, 0}));
    EXPECT_TRUE(are(xt::argsort(x, 0), {0, 0, 0, 1, 1, 1}));
    EXPECT_EQ(xt::partition(x, 2, 1)(0, 2), 3);
    EXPECT_EQ(xt::argpartition(x, 0, 1)(1, 0), 2u);
    EXPECT_EQ(xt::median(x), T(3.5));
    EXPECT_TRUE(are(xt::median(x, 1), {2, 5}));
    EXPECT_TRUE(are(xt::unique(Tensor<T>(xt::concatenate(xt::xtuple(x, x)))), {1, 2, 3, 4, 5, 6}));
  });
}

TYPED_TEST(XtensorSorts, SetsAndHistograms) {
  using T = TypeParam;
  on_value_and_gradient(Tensor<T>{1, 2, 2, 5}, [](const Tensor<T>& x) {
    const Tensor<T> other = {2, 3};
    EXPECT_TRUE(are(xt::isin(x, other), {0, 1, 1, 0}));
    EXPECT_TRUE(are(xt::in1d(x, other), {0, 1, 1, 0}));
    EXPECT_TRUE(are(xt::setdiff1d(x, other), {1, 5}));
    EXPECT_TRUE(are(xt::searchsorted(x, other), {1, 3}));
    EXPECT_TRUE(are(xt::histogram(x, std::size_t(2)), {3, 1}));
    EXPECT_TRUE(are(xt::histogram_bin_edges(x, std::size_t(2)), {1, 3, 5}));
    EXPECT_TRUE(are(xt::digitize(x, Tensor<T>{2, 4}), {0, 1, 1, 2}));
    EXPECT_TRUE(are(xt::bincount(xt::cast<int>(x)), {0, 1, 2, 0, 0, 1}));
    EXPECT_TRUE(are(xt::bin_items(std::size_t(4), std::size_t(2)), {2, 2}));
  });
}

}  // namespace
}  // namespace xgrad::test
