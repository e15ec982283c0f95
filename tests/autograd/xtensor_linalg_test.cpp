// Linear algebra by xtensor-blas on values and gradients.
#include "support/xtensor.hpp"

#include <xtensor-blas/xlinalg.hpp>

namespace xgrad::test {
namespace {

using namespace xgrad;

template <class T>
class XtensorLinalg : public testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(XtensorLinalg, Scalars);

// A symmetric matrix with determinant 11 and the eigenvalues (7 -+ sqrt(5)) / 2.
template <class T, class Check>
void on_symmetric(const Check& check) {
  on_value_and_gradient(Tensor<T>{{4, 1}, {1, 3}}, check);
}

TYPED_TEST(XtensorLinalg, Products) {
  using T = TypeParam;
  on_symmetric<T>([](const Tensor<T>& x) {
    const Tensor<T> v = {1, 2};
    EXPECT_TRUE(are(xt::linalg::dot(x, x), {17, 7, 7, 10}));
    EXPECT_TRUE(are(xt::linalg::dot(x, v), {6, 7}));
    EXPECT_TRUE(are(xt::linalg::outer(v, v), {1, 2, 2, 4}));
    EXPECT_EQ(xt::linalg::vdot(v, v), 5);
    EXPECT_TRUE(are(xt::linalg::kron(xt::eye<T>(1), x), {4, 1, 1, 3}));
    EXPECT_TRUE(are(xt::linalg::matrix_power(x, 2), {17, 7, 7, 10}));
    EXPECT_TRUE(are(xt::linalg::cross(Tensor<T>{1, 0, 0}, Tensor<T>{0, 1, 0}), {0, 0, 1}));
    EXPECT_TRUE(are(xt::linalg::tensordot(x, x, 1), {17, 7, 7, 10}));
    EXPECT_TRUE(are(xt::linalg::trace(x), {7}));
  });
}

TYPED_TEST(XtensorLinalg, SolutionsAndNorms) {
  using T = TypeParam;
  on_symmetric<T>([](const Tensor<T>& x) {
    const Tensor<T> v = {6, 7};
    EXPECT_NEAR(xt::linalg::det(x), 11, 1e-5);
    EXPECT_TRUE(are(xt::linalg::inv(x), {3.0 / 11, -1.0 / 11, -1.0 / 11, 4.0 / 11}));
    EXPECT_TRUE(are(xt::linalg::pinv(x), {3.0 / 11, -1.0 / 11, -1.0 / 11, 4.0 / 11}));
    EXPECT_TRUE(are(xt::linalg::solve(x, v), {1, 2}));
    EXPECT_TRUE(are(std::get<0>(xt::linalg::lstsq(x, v)), {1, 2}));
    EXPECT_NEAR(xt::linalg::norm(x), std::sqrt(27.0), 1e-5);
    EXPECT_NEAR(xt::linalg::norm(v, 1), 13, 1e-5);
    EXPECT_EQ(xt::linalg::matrix_rank(x), 2);
  });
}

TYPED_TEST(XtensorLinalg, Decompositions) {
  using T = TypeParam;
  on_symmetric<T>([](const Tensor<T>& x) {
    const double small = (7 - std::sqrt(5.0)) / 2, large = (7 + std::sqrt(5.0)) / 2;
    EXPECT_TRUE(are(xt::linalg::eigvalsh(x), {small, large}));
    EXPECT_TRUE(are(std::get<0>(xt::linalg::eigh(x)), {small, large}));
    EXPECT_TRUE(are(std::get<1>(xt::linalg::svd(x)), {large, small}));
    EXPECT_TRUE(are(xt::linalg::cholesky(x), {2, 0, 0.5, std::sqrt(2.75)}));
    const auto product = [](const auto& qr) {
      return xt::linalg::dot(std::get<0>(qr), std::get<1>(qr));
    };
    EXPECT_TRUE(are(product(xt::linalg::qr(x)), {4, 1, 1, 3}));
  });
}

}  // namespace
}  // namespace xgrad::test
