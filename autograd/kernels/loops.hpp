// Loops over elements, rows and axes of tensors, for kernels. Internal.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>
#include <vector>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/kernels/lanes.hpp>
#include <xgrad/autograd/kernels/math.hpp>
#include <xgrad/autograd/parallel.hpp>
#include <xgrad/autograd/tensor.hpp>

namespace xgrad::detail {

/// Elements in a block of a parallel loop: enough work to outweigh the cost of starting a task, few
/// enough to fit the cache.
constexpr std::size_t kElementGrain = 16384;

/// The number of rows of this width in a block of kElementGrain elements, at least 1.
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

/// The type of long sums: double for float. Long sums are few, so the precision costs no time.
template <class T>
using Sum = std::conditional_t<std::is_same_v<T, float>, double, T>;

/// A tensor as `count` rows of `width` elements.
struct RowLayout {
  std::size_t count, width;

  /// Rows per block of a parallel loop. Depends on the width alone.
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

/// Adds the sum of all rows to `sums` (width). Each block of `grain` rows has its own `part`:
/// `width` sums, then `room` elements of work space. add(row, part) adds row `row` to these sums.
/// Blocks run in parallel but are added in order: any number of threads gives the same bits.
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

/// y = exp(x - shift); returns the sum of y. x and y may be the same array.
template <class T>
T exp_row(const T* x, std::size_t n, T shift, T* y) {
  return sum_terms<T>(n, [=](std::size_t i) { return y[i] = detail::exp(x[i] - shift); });
}

/// sum exp(x - shift)
template <class T>
T exp_sum(const T* x, std::size_t n, T shift) {
  return sum_terms<T>(n, [=](std::size_t i) { return detail::exp(x[i] - shift); });
}

/// A contiguous tensor, seen as a tensor of shape (outer, extent, inner) around one of its axes.
struct AxisView {
  std::size_t axis = 0;    // index of this axis
  std::size_t outer = 1;   // product of the extents before this axis
  std::size_t extent = 1;  // of this axis
  std::size_t inner = 1;   // product of the extents after this axis
};

/// The index of an axis; a negative `axis` counts from the end. Throws ShapeError when the axis
/// does not exist.
inline std::size_t axis_of(const char* op, const Shape& shape, std::ptrdiff_t axis) {
  const std::size_t index = std::size_t(axis < 0 ? axis + std::ptrdiff_t(shape.size()) : axis);
  check_shape(index < shape.size(), op, ": there is no axis ", axis, " in shape ", shape);
  return index;
}

/// The AxisView of a tensor of `shape` around `axis`. Throws as axis_of().
inline AxisView split_at(const char* op, const Shape& shape, std::ptrdiff_t axis) {
  AxisView view{axis_of(op, shape, axis)};
  for (std::size_t i = 0; i < view.axis; ++i) view.outer *= shape[i];
  view.extent = shape[view.axis];
  for (std::size_t i = view.axis + 1; i < shape.size(); ++i) view.inner *= shape[i];
  return view;
}

/// `shape` without one axis.
inline Shape without_axis(const Shape& shape, std::size_t axis) {
  Shape result = shape;
  result.erase(result.begin() + std::ptrdiff_t(axis));
  return result;
}

using Strides = std::vector<std::size_t>;

/// The strides for reading a tensor of `shape` as if it were broadcast to the shape `to`. A stride
/// is 0 on an axis where `shape` has extent 1 or no axis.
inline Strides broadcast_strides(const Shape& shape, const Shape& to) {
  Strides strides(to.size(), 0);
  std::size_t stride = 1;
  for (std::size_t axis = shape.size(); axis-- > 0; stride *= shape[axis]) {
    if (shape[axis] != 1) strides[to.size() - shape.size() + axis] = stride;
  }
  return strides;
}

/// Calls f(i, offsets) for i in [begin, end), where i counts the elements of `shape` in row-major
/// order. `offsets` holds the element's offset in each of K tensors with the given strides.
template <std::size_t K, class F>
void for_each_index(const Shape& shape, const std::array<Strides, K>& strides, std::size_t begin,
                    std::size_t end, const F& f) {
  if (begin == end) return;
  std::vector<std::size_t> index(shape.size());
  std::array<std::size_t, K> offsets{};
  std::size_t rest = begin;
  for (std::size_t axis = shape.size(); axis-- > 0; rest /= shape[axis]) {
    index[axis] = rest % shape[axis];
    for (std::size_t k = 0; k < K; ++k) offsets[k] += index[axis] * strides[k][axis];
  }
  for (std::size_t i = begin; i < end; ++i) {
    f(i, offsets);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      for (std::size_t k = 0; k < K; ++k) offsets[k] += strides[k][axis];
      if (++index[axis] < shape[axis]) break;
      for (std::size_t k = 0; k < K; ++k) offsets[k] -= shape[axis] * strides[k][axis];
      index[axis] = 0;
    }
  }
}

}  // namespace xgrad::detail
