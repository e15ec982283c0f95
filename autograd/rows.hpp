// Tensors seen as rows along their last axis, for kernels. Not installed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <type_traits>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/math.hpp>

namespace xgrad::detail {

/// Scalar in which long sums over float run; they are few, so their precision costs nothing.
template <class T>
using Sum = std::conditional_t<std::is_same_v<T, float>, double, T>;

/// A tensor as `count` rows of `width` elements.
struct Rows {
  std::size_t count, width;

  /// Rows of one block of a parallel loop: by the width alone, and enough to pay for a task.
  std::size_t grain() const {
    return std::max<std::size_t>(1, 16384 / std::max<std::size_t>(1, width));
  }
};

/// Throws ShapeError when there is no last axis.
inline Rows rows_of(const char* op, const Shape& shape) {
  check_shape(!shape.empty(), op, ": expected at least one axis, got ", shape);
  Rows rows{1, shape.back()};
  for (std::size_t axis = 0; axis + 1 < shape.size(); ++axis) rows.count *= shape[axis];
  return rows;
}

/// The index of element `offset` of a tensor of this shape, for messages.
inline Shape index_of(std::size_t offset, const Shape& shape) {
  Shape index(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0; offset /= shape[axis])
    index[axis] = offset % shape[axis];
  return index;
}

/// The largest element; -inf when there is none.
template <class T>
T row_max(const T* x, std::size_t n) {
  T largest = -std::numeric_limits<T>::infinity();
#pragma omp simd reduction(max : largest)
  for (std::size_t i = 0; i < n; ++i) largest = x[i] > largest ? x[i] : largest;
  return largest;
}

/// y = exp(x - shift); returns the sum of y. x and y may be the same.
template <class T>
T exp_row(const T* x, std::size_t n, T shift, T* y) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t i = 0; i < n; ++i) {
    const T e = detail::exp(x[i] - shift);
    y[i] = e;
    sum += e;
  }
  return sum;
}

/// sum exp(x - shift)
template <class T>
T exp_sum(const T* x, std::size_t n, T shift) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t i = 0; i < n; ++i) sum += detail::exp(x[i] - shift);
  return sum;
}

template <class T>
T dot(const T* x, const T* y, std::size_t n) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t i = 0; i < n; ++i) sum += x[i] * y[i];
  return sum;
}

}  // namespace xgrad::detail
