// Loops over elements, and over rows along the last axis, for kernels. Internal.
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/kernels/lanes.hpp>
#include <xgrad/autograd/kernels/math.hpp>
#include <xgrad/autograd/parallel.hpp>
#include <xgrad/autograd/tensor.hpp>

namespace xgrad::detail {

/// Elements in a block of a parallel loop: enough to pay for a task, few enough to fit the cache.
constexpr std::size_t kElementGrain = 16384;

/// The number of rows of this width in such a block.
inline std::size_t row_grain(std::size_t width) {
  return std::max<std::size_t>(1, kElementGrain / std::max<std::size_t>(1, width));
}

/// Calls f(i) for every i in [0, n), vectorised, and in parallel when n is large. f(i) may access
/// only element i.
template <class F>
void for_elements(std::size_t n, const F& f) {
  parallel_for(n, kElementGrain, [&](std::size_t begin, std::size_t end) {
#pragma omp simd
    for (std::size_t i = begin; i < end; ++i) f(i);
  });
}

/// The scalar of long sums: double for float. Such sums are few, so the precision costs no time.
template <class T>
using Sum = std::conditional_t<std::is_same_v<T, float>, double, T>;

/// A tensor as `count` rows of `width` elements.
struct RowLayout {
  std::size_t count, width;

  /// Rows per block of a parallel loop: depends on the width alone, and is enough to pay for a
  /// task.
  std::size_t grain() const { return row_grain(width); }
};

/// The rows of a tensor of `shape`. Throws ShapeError for the shape ().
inline RowLayout rows_of(const char* op, const Shape& shape) {
  check_shape(!shape.empty(), op, ": expected at least one axis, got ", shape);
  RowLayout rows{1, shape.back()};
  for (std::size_t axis = 0; axis + 1 < shape.size(); ++axis) rows.count *= shape[axis];
  return rows;
}

/// Calls f(offset of the row's first element) for every row, in parallel.
template <class F>
void for_each_row(const RowLayout& rows, const F& f) {
  parallel_for(rows.count, rows.grain(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) f(row * rows.width);
  });
}

/// Adds the sum over all rows to `sums` (width). add(row, part) adds a row to the sums of its block
/// of `grain` rows, behind which it has `room` elements of work space. Blocks run in parallel and
/// are added in order, so the bits do not depend on the number of threads.
template <class T, class Add>
void add_rows(std::size_t rows, std::size_t grain, std::size_t width, std::size_t room,
              const Add& add, T* sums) {
  const std::size_t blocks = (rows + grain - 1) / grain, size = width + room;
  Tensor<T> parts = zeros<T>({blocks, size});
  parallel_for(rows, grain, [&](std::size_t begin, std::size_t end) {
    T* part = parts.data() + begin / grain * size;
    for (std::size_t row = begin; row < end; ++row) add(row, part);
  });
  for (std::size_t block = 0; block < blocks; ++block) {
    const T* part = parts.data() + block * size;
#pragma omp simd
    for (std::size_t j = 0; j < width; ++j) sums[j] += part[j];
  }
}

template <class T>
T dot(const T* x, const T* y, std::size_t n) {
  return sum_terms<T>(n, [x, y](std::size_t i) { return x[i] * y[i]; });
}

/// y = exp(x - shift); returns the sum of y. x and y may be the same.
template <class T>
T exp_row(const T* x, std::size_t n, T shift, T* y) {
  return sum_terms<T>(n, [=](std::size_t i) { return y[i] = detail::exp(x[i] - shift); });
}

/// sum exp(x - shift)
template <class T>
T exp_sum(const T* x, std::size_t n, T shift) {
  return sum_terms<T>(n, [=](std::size_t i) { return detail::exp(x[i] - shift); });
}

}  // namespace xgrad::detail
