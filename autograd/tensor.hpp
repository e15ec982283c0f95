// Tensor<T>: the type of every value. The only public header that includes xtensor.
#pragma once

#if __has_include(<xtensor/xarray.hpp>)
#include <xtensor/xarray.hpp>
#else
#include <xtensor/containers/xarray.hpp>
#endif

#include <cstddef>
#include <cstdint>
#include <string>

#include <xgrad/autograd/memory.hpp>

namespace xgrad {

/// Dense row-major array of any rank. Its shape is fixed at run time; `data()` is contiguous.
template <class T>
using Tensor = xt::xarray<T, xt::layout_type::row_major, Allocator<T>>;

/// Sizes of axes.
using Shape = Tensor<float>::shape_type;

/// Token ids, class labels and lengths.
using Ids = Tensor<std::int32_t>;

/// 1 where something is present, 0 where it is padding.
using Mask = Tensor<std::uint8_t>;

/// Number of elements of a tensor of this shape; 1 for a scalar.
std::size_t size_of(const Shape& shape);

/// "(2, 3)"; "()" for a scalar.
std::string to_string(const Shape& shape);

/// The shape that `a` and `b` broadcast to, as NumPy does it. `op` starts the message of the
/// ShapeError thrown when they do not.
Shape broadcast_shape(const char* op, const Shape& a, const Shape& b);

// Makers. Each takes the shape as {rows, columns}: zeros<float>({2, 3}). A tensor of given elements
// is tensor<float>({{1, 2}, {3, 4}}), of nested_list.hpp.

/// An uninitialised tensor.
template <class T>
Tensor<T> empty(const Shape& shape) {
  return Tensor<T>::from_shape(shape);
}

/// All elements are `value`, whose type is the tensor's: full({2, 3}, 0.5f) is a Tensor<float>.
template <class T>
Tensor<T> full(const Shape& shape, T value) {
  Tensor<T> result = empty<T>(shape);
  std::fill_n(result.data(), result.size(), value);
  return result;
}

/// All elements are 0.
template <class T>
Tensor<T> zeros(const Shape& shape) {
  return full(shape, T(0));
}

/// All elements are 1.
template <class T>
Tensor<T> ones(const Shape& shape) {
  return full(shape, T(1));
}

/// The same values in another scalar type.
template <class To, class From>
Tensor<To> cast(const Tensor<From>& x) {
  Tensor<To> result = empty<To>(x.shape());
  std::transform(x.data(), x.data() + x.size(), result.data(), [](From v) { return To(v); });
  return result;
}

}  // namespace xgrad
