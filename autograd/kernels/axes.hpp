// Axes, strides and index loops, shared by ops. Internal.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/tensor.hpp>

namespace xgrad::detail {

/// A contiguous tensor as three axes: those before one axis, that axis, and those after it.
struct AxisView {
  std::size_t axis = 0;  // counted from 0
  std::size_t outer = 1;
  std::size_t extent = 1;
  std::size_t inner = 1;
};

/// The index of an axis that counts from the end if it is negative. Throws ShapeError when the axis
/// does not exist.
inline std::size_t axis_of(const char* op, const Shape& shape, std::ptrdiff_t axis) {
  const std::size_t index = std::size_t(axis < 0 ? axis + std::ptrdiff_t(shape.size()) : axis);
  check_shape(index < shape.size(), op, ": there is no axis ", axis, " in shape ", shape);
  return index;
}

/// The view of a tensor of `shape` around `axis`. Throws as axis_of().
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

inline Strides row_major_strides(const Shape& shape) {
  Strides strides(shape.size());
  std::size_t stride = 1;
  for (std::size_t axis = shape.size(); axis-- > 0; stride *= shape[axis]) strides[axis] = stride;
  return strides;
}

/// The strides that read a tensor of `shape` as the shape `to` that it broadcasts to.
inline Strides broadcast_strides(const Shape& shape, const Shape& to) {
  const Strides own = row_major_strides(shape);
  Strides strides(to.size(), 0);
  const std::size_t lead = to.size() - shape.size();
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] != 1) strides[lead + axis] = own[axis];
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
