// xtensor's views and rearrangements on values and gradients. xt::flip() without an axis is left
// out: it does not compile for a constant array.
#include "support/xtensor.hpp"

namespace xgrad::test {
namespace {

using namespace xgrad;

template <class T>
class XtensorViews : public testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(XtensorViews, Scalars);

template <class T, class Check>
void on_matrix(const Check& check) {
  on_value_and_gradient(Tensor<T>{{3, 1, 2}, {6, 5, 4}}, check);
}

TYPED_TEST(XtensorViews, Parts) {
  using T = TypeParam;
  on_matrix<T>([](const Tensor<T>& x) {
    EXPECT_TRUE(are(xt::view(x, 1), {6, 5, 4}));
    EXPECT_TRUE(are(xt::view(x, xt::all(), xt::range(1, 3)), {1, 2, 5, 4}));
    EXPECT_TRUE(are(xt::view(x, xt::range(xt::placeholders::_, 1), xt::newaxis()), {3, 1, 2}));
    EXPECT_TRUE(are(xt::view(x, xt::all(), xt::keep(0, 2)), {3, 2, 6, 4}));
    EXPECT_TRUE(are(xt::view(x, xt::all(), xt::drop(0)), {1, 2, 5, 4}));
    EXPECT_TRUE(are(xt::row(x, 0), {3, 1, 2}));
    EXPECT_TRUE(are(xt::col(x, 0), {3, 6}));
    EXPECT_TRUE(are(xt::strided_view(x, {xt::ellipsis(), 1}), {1, 5}));
    EXPECT_TRUE(are(xt::strided_view(x, {1, xt::range(2, -4, -1)}), {4, 5, 6}));
    EXPECT_TRUE(
        are(xt::index_view(x, std::vector<std::vector<std::size_t>>{{0, 0}, {1, 2}}), {3, 4}));
    EXPECT_TRUE(are(xt::filter(x, x > T(3)), {6, 5, 4}));
    Tensor<T> y = x;
    xt::view(y, 0) += T(1);
    xt::filter(y, y > T(4)) = T(0);
    xt::masked_view(y, y < T(3)) += T(0);
    EXPECT_TRUE(are(y, {4, 2, 3, 0, 0, 4}));
  });
}

TYPED_TEST(XtensorViews, Shapes) {
  using T = TypeParam;
  on_matrix<T>([](const Tensor<T>& x) {
    EXPECT_TRUE(are(xt::transpose(x), {3, 6, 1, 5, 2, 4}));
    EXPECT_TRUE(are(xt::transpose(x, {1, 0}), {3, 6, 1, 5, 2, 4}));
    EXPECT_TRUE(are(xt::reshape_view(x, {3, 2}), {3, 1, 2, 6, 5, 4}));
    EXPECT_TRUE(are(xt::broadcast(xt::row(x, 0), {2, 3}), {3, 1, 2, 3, 1, 2}));
    EXPECT_TRUE(are(xt::ravel(x), {3, 1, 2, 6, 5, 4}));
    EXPECT_TRUE(are(xt::flatten(x), {3, 1, 2, 6, 5, 4}));
    EXPECT_EQ(xt::expand_dims(x, 1).shape().size(), 3u);
    EXPECT_EQ(xt::atleast_3d(x).shape().size(), 3u);
    EXPECT_EQ(xt::squeeze(xt::expand_dims(x, 1)).shape().size(), 2u);
    Tensor<T> y = x;
    y.reshape({3, 2});
    EXPECT_EQ(y(1, 1), 6);
  });
}

TYPED_TEST(XtensorViews, Orders) {
  using T = TypeParam;
  on_matrix<T>([](const Tensor<T>& x) {
    EXPECT_TRUE(are(xt::flip(x, 1), {2, 1, 3, 4, 5, 6}));
    EXPECT_TRUE(are(xt::rot90(x), {2, 4, 1, 5, 3, 6}));
    EXPECT_TRUE(are(xt::roll(x, 1), {4, 3, 1, 2, 6, 5}));
    EXPECT_TRUE(are(xt::roll(x, 1, 1), {2, 3, 1, 4, 6, 5}));
    EXPECT_TRUE(are(xt::repeat(x, 2, 1), {3, 3, 1, 1, 2, 2, 6, 6, 5, 5, 4, 4}));
    EXPECT_TRUE(are(xt::tile(xt::row(x, 0), 2), {3, 1, 2, 3, 1, 2}));
    EXPECT_TRUE(are(xt::pad(x, {{0, 0}, {1, 0}}), {0, 3, 1, 2, 0, 6, 5, 4}));
    Tensor<T> y = x;  // xtensor cannot split a constant array
    EXPECT_TRUE(are(xt::split(y, 2)[1], {6, 5, 4}));
    EXPECT_TRUE(are(xt::hsplit(y, 3)[2], {2, 4}));
    EXPECT_TRUE(are(xt::vsplit(y, 2)[0], {3, 1, 2}));
  });
}

TYPED_TEST(XtensorViews, JoinsAndDiagonals) {
  using T = TypeParam;
  on_matrix<T>([](const Tensor<T>& x) {
    EXPECT_TRUE(are(xt::concatenate(xt::xtuple(x, x), 1), {3, 1, 2, 3, 1, 2, 6, 5, 4, 6, 5, 4}));
    EXPECT_TRUE(are(xt::stack(xt::xtuple(x, x), 1), {3, 1, 2, 3, 1, 2, 6, 5, 4, 6, 5, 4}));
    EXPECT_TRUE(are(xt::hstack(xt::xtuple(x, x)), {3, 1, 2, 3, 1, 2, 6, 5, 4, 6, 5, 4}));
    EXPECT_TRUE(are(xt::vstack(xt::xtuple(x, x)), {3, 1, 2, 6, 5, 4, 3, 1, 2, 6, 5, 4}));
    EXPECT_TRUE(are(xt::diagonal(x), {3, 5}));
    EXPECT_TRUE(are(xt::diag(xt::row(x, 0)), {3, 0, 0, 0, 1, 0, 0, 0, 2}));
    EXPECT_TRUE(are(xt::tril(x), {3, 0, 0, 6, 5, 0}));
    EXPECT_TRUE(are(xt::triu(x), {3, 1, 2, 0, 5, 4}));
    EXPECT_TRUE(are(std::get<0>(xt::meshgrid(xt::col(x, 0), xt::row(x, 0))), {3, 3, 3, 6, 6, 6}));
    EXPECT_TRUE(are(xt::trim_zeros(Tensor<T>{0, 3, 0, 5, 0}), {3, 0, 5}));
    T largest = 0;
    std::for_each(xt::axis_begin(x, 0), xt::axis_end(x, 0),
                  [&](const auto& row) { largest += xt::amax(row)(); });
    EXPECT_EQ(largest, 9);
  });
}

}  // namespace
}  // namespace xgrad::test
