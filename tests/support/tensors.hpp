// Random tensors, and comparisons of tensors.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>
#include <type_traits>
#include <vector>

#include <xgrad/autograd/random.hpp>
#include <xgrad/autograd/tensor.hpp>

namespace xgrad::test {

/// Elements uniform in [low, high).
template <class T = double>
Tensor<T> random_tensor(const Shape& shape, const Rng& rng, double low = -1, double high = 1) {
  Tensor<T> x = empty<T>(shape);
  for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = T(low + (high - low) * rng.uniform(i));
  return x;
}

/// Standard normal elements.
template <class T = double>
Tensor<T> normal_tensor(const Shape& shape, const Rng& rng) {
  Tensor<T> x = empty<T>(shape);
  for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = T(rng.normal(i));
  return x;
}

/// Ids uniform in [0, bound).
Ids random_ids(const Shape& shape, const Rng& rng, std::int32_t bound);

/// A mask of 1 with probability `keep`, else 0.
Mask random_mask(const Shape& shape, const Rng& rng, double keep = 0.7);

/// A random number in [low, high], for the axes of random shapes.
std::size_t random_size(const Rng& rng, std::size_t low, std::size_t high);

/// A tensor of these values in row-major order.
template <class T = double>
Tensor<T> tensor(const Shape& shape, std::initializer_list<std::type_identity_t<T>> values) {
  Tensor<T> x = empty<T>(shape);
  EXPECT_EQ(x.size(), values.size());
  std::copy(values.begin(), values.end(), x.data());
  return x;
}

/// Whether the shapes are equal and |actual - expected| <= absolute + relative |expected| for every
/// element; NaN equals NaN.
template <class T, class U>
testing::AssertionResult tensors_near(const Tensor<T>& actual, const Tensor<U>& expected,
                                      double absolute, double relative = 0) {
  if (actual.shape() != expected.shape()) {
    return testing::AssertionFailure()
           << "shape " << to_string(actual.shape()) << ", expected " << to_string(expected.shape());
  }
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const auto a = static_cast<long double>(actual.data()[i]);
    const auto e = static_cast<long double>(expected.data()[i]);
    if (a == e || (std::isnan(a) && std::isnan(e))) continue;
    if (std::fabs(a - e) <= absolute + relative * std::fabs(e)) continue;
    return testing::AssertionFailure() << "element " << i << " of " << to_string(actual.shape())
                                       << " is " << a << ", expected " << e << ", off by " << a - e;
  }
  return testing::AssertionSuccess();
}

/// Whether shapes and values are the same to the bit; +0 and -0 differ, NaN equals NaN.
template <class T>
testing::AssertionResult same_bits(const Tensor<T>& actual, const Tensor<T>& expected) {
  if (actual.shape() != expected.shape()) {
    return testing::AssertionFailure()
           << "shape " << to_string(actual.shape()) << ", expected " << to_string(expected.shape());
  }
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const T a = actual.data()[i];
    const T e = expected.data()[i];
    const bool same = std::isnan(a) ? std::isnan(e) : a == e && std::signbit(a) == std::signbit(e);
    if (same) continue;
    return testing::AssertionFailure() << "element " << i << " of " << to_string(actual.shape())
                                       << " is " << a << ", expected " << e;
  }
  return testing::AssertionSuccess();
}

}  // namespace xgrad::test

#define EXPECT_TENSOR_NEAR(actual, expected, tolerance) \
  EXPECT_TRUE(::xgrad::test::tensors_near(actual, expected, tolerance))
