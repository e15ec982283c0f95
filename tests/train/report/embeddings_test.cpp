#include <xgrad/train/report/report.hpp>

#include <gtest/gtest.h>

#include <cmath>

#include "support/gradients.hpp"

namespace xgrad {
namespace {

// Points a (3, 4) / 5 + b (-4, 3) / 5 around (10, 20), which vary along these two directions.
TEST(PrincipalComponents, FindTheDirectionsInWhichPointsWereSpread) {
  const double a[] = {-3, -1, 1, 3}, b[] = {-0.5, 0.5, 0.5, -0.5};
  Tensor<double> x = empty<double>({4, 2});
  for (std::size_t i = 0; i < 4; ++i) {
    x(i, 0) = 10 + 0.6 * a[i] - 0.8 * b[i];
    x(i, 1) = 20 + 0.8 * a[i] + 0.6 * b[i];
  }
  const Projection found = *principal_components(x);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(found.points(i, 0), a[i], 1e-12);
    EXPECT_NEAR(found.points(i, 1), -b[i], 1e-12);  // the larger component, -0.8, becomes positive
  }
  EXPECT_NEAR(found.explained[0], 20.0 / 21, 1e-12);
  EXPECT_NEAR(found.explained[1], 1.0 / 21, 1e-12);
}

// The eigenvectors of a covariance of two features, in closed form.
TEST(PrincipalComponents, OfMorePointsThanFeatures) {
  constexpr std::size_t kPoints = 50;
  Tensor<double> x = empty<double>({kPoints, 2});
  for (std::size_t i = 0; i < kPoints; ++i) {
    x(i, 0) = double(i * 37 % 11);
    x(i, 1) = double(i * 17 % 13) + 0.7 * x(i, 0);
  }
  const Tensor<double> centred = x - xt::mean(x, {0});
  double a = 0, b = 0, c = 0;
  for (std::size_t i = 0; i < kPoints; ++i) {
    a += centred(i, 0) * centred(i, 0);
    b += centred(i, 0) * centred(i, 1);
    c += centred(i, 1) * centred(i, 1);
  }
  const double largest = (a + c) / 2 + std::hypot((a - c) / 2, b);
  const double length = std::hypot(b, largest - a);  // of (b, largest - a), which is above 0
  const Projection found = *principal_components(x);
  EXPECT_NEAR(found.explained[0], largest / (a + c), 1e-12);
  EXPECT_NEAR(found.explained[0] + found.explained[1], 1, 1e-12);
  for (std::size_t i = 0; i < kPoints; ++i) {
    const double place = (b * centred(i, 0) + (largest - a) * centred(i, 1)) / length;
    EXPECT_NEAR(found.points(i, 0), place, 1e-10);
  }
}

TEST(PrincipalComponents, AreZeroWherePointsDoNotDiffer) {
  const Projection same = *principal_components(xt::ones<double>({3, 4}));
  EXPECT_EQ(same.points, zeros<double>({3, 2}));
  EXPECT_EQ(same.explained[0], 0);
  Tensor<double> line = zeros<double>({3, 4});
  line(0, 2) = 1;
  line(1, 2) = -1;
  const Projection one = *principal_components(line);
  EXPECT_NEAR(one.explained[0], 1, 1e-12);
  EXPECT_NEAR(one.points(1, 1), 0, 1e-12);
  EXPECT_TRUE(test::throws_with<ShapeError>(
      [] {
        principal_components(zeros<double>({3, 1}));
      },
      "(3, 1)"));
}

}  // namespace
}  // namespace xgrad
