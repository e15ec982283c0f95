#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <xgrad/autograd/ops.hpp>

#include "support/tensors.hpp"

namespace xgrad::test {

namespace {

using V = Variable<double>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Tensor<double> of(std::initializer_list<double> x) {
  return sparsemax(V(tensor({x.size()}, x))).value();
}

}  // namespace

// Martins & Astudillo 2016, section 2: in two dimensions sparsemax((t, 0)) is (t + 1) / 2, cut to
// [0, 1]; and small examples of their algorithm 1 by hand: (1, 0.8, 0.1) has support 2 and
// tau = 0.4, (0.1, 0.2, 0.3) support 3 and tau = -2/15.
TEST(Sparsemax, S4_15_PublishedValues) {
  for (const double t : {-3.0, -1.0, -0.4, 0.0, 0.25, 0.9, 1.0, 7.0}) {
    const double p = std::clamp((t + 1) / 2, 0.0, 1.0);
    EXPECT_TENSOR_NEAR(of({t, 0}), tensor({2}, {p, 1 - p}), 1e-15);
  }
  EXPECT_TENSOR_NEAR(of({1, 0.8, 0.1}), tensor({3}, {0.6, 0.4, 0}), 1e-15);
  EXPECT_TENSOR_NEAR(of({0.1, 0.2, 0.3}), tensor({3}, {7. / 30, 1. / 3, 13. / 30}), 1e-15);
  EXPECT_TENSOR_NEAR(of({3, 1, 0.2}), tensor({3}, {1, 0, 0}), 0);
}

// Its definition: the point of the simplex that is nearest to x. The conditions of Karush, Kuhn and
// Tucker hold: p >= 0, sum p = 1, and one tau with p = x - tau where p > 0, x <= tau elsewhere.
TEST(Sparsemax, S4_15_IsTheProjectionOnTheSimplex) {
  for (std::uint64_t trial = 0; trial < 200; ++trial) {
    const std::size_t n = 1 + trial % 40;
    const auto x = normal_tensor({n}, Rng(3) / trial);
    const auto p = sparsemax(V(x)).value();
    double sum = 0, tau = kInfinity;
    for (std::size_t i = 0; i < n; ++i) {
      EXPECT_GE(p(i), 0);
      sum += p(i);
      if (p(i) > 0) tau = std::min(tau, x(i) - p(i));
    }
    EXPECT_NEAR(sum, 1, 1e-14);
    for (std::size_t i = 0; i < n; ++i) {
      EXPECT_NEAR(p(i), std::max(0.0, x(i) - tau), 1e-14);
    }
  }
}

TEST(Sparsemax, ShiftsByAConstantDoNotMatter) {
  EXPECT_TENSOR_NEAR(of({1e4 + 1, 1e4 + 0.75, 1e4}), of({1, 0.75, 0}), 1e-11);
  EXPECT_TENSOR_NEAR(of({-1e4 + 1, -1e4 + 0.75, -1e4}), of({1, 0.75, 0}), 1e-11);
}

TEST(Sparsemax, WhatIsHiddenStaysHidden) {
  EXPECT_TENSOR_NEAR(of({-kInfinity, 0.5, 0.25}), tensor({3}, {0, 0.625, 0.375}), 1e-15);
  const V x(tensor({2, 2}, {-kInfinity, -kInfinity, 0.5, 0.25}), true);
  const V y = sparsemax(x);
  EXPECT_TENSOR_NEAR(y.value(), tensor({2, 2}, {0, 0, 0.625, 0.375}), 1e-15);
  y.backward(tensor({2, 2}, {1, 2, 3, 5}));
  EXPECT_TENSOR_NEAR(x.grad(), tensor({2, 2}, {0, 0, -1, 1}), 1e-15);
}

TEST(Sparsemax, NanIsNotLost) {
  EXPECT_TRUE(std::isnan(of({0.5, std::nan(""), 0})(1)));
  EXPECT_TRUE(std::isnan(of({std::nan(""), std::nan("")})(0)));
  EXPECT_EQ(sparsemax(V(zeros<double>({2, 0}))).shape(), (Shape{2, 0}));
}

}  // namespace xgrad::test
