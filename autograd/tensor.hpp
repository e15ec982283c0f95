// Tensor<T>: the type of every value, and the scalars T that xgrad is built for. The only public
// header that includes xtensor.
#pragma once

#if __has_include(<xtensor/xarray.hpp>)
#include <xtensor/xarray.hpp>
#include <xtensor/xstrided_view.hpp>
#include <xtensor/xview.hpp>
#else
#include <xtensor/containers/xarray.hpp>
#include <xtensor/views/xstrided_view.hpp>
#include <xtensor/views/xview.hpp>
#endif

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>

#include <xgrad/autograd/memory/memory.hpp>

/// Applies X to every scalar type. A .cpp file uses this macro to instantiate templates. float is
/// for training, double for training and for gradient checks. The tests and `xgrad gradcheck`
/// compute reference derivatives in long double.
#define XGRAD_FOR_EACH_SCALAR(X) X(float) X(double) X(long double)
/// Applies X to the scalar types in which a model can be trained and saved.
#define XGRAD_FOR_EACH_TRAINING_SCALAR(X) X(float) X(double)

namespace xt::detail {

/// Works around a defect of xtensor before 0.25. In C++20, functions such as xt::eval() and
/// xt::pad() make arrays with a shape of rank 4, whatever the true rank, and compute wrong numbers.
template <>
struct xtype_for_shape<xarray<float>::shape_type> {
  template <class T, layout_type L>
  using type = xarray<T, L>;  ///< an array of any rank
};

}  // namespace xt::detail

namespace xgrad {

/// A dense row-major array of any rank. Its shape is set at run time; `data()` is contiguous.
template <class T>
using Tensor = xt::xarray<T, xt::layout_type::row_major, allocators::Allocator<T>>;

/// The sizes of a tensor's axes.
using Shape = Tensor<float>::shape_type;

/// Token ids, class labels and lengths.
using Ids = Tensor<std::int32_t>;

/// A mask: 1 = present, 0 = padding or hidden.
using Mask = Tensor<std::uint8_t>;
/// A mask that an op or layer takes. It is shared, because backward may need it later. null:
/// nothing is masked.
using SharedMask = std::shared_ptr<const Mask>;

/// The number of elements of a tensor of this shape; 1 for a scalar. Throws ShapeError when
/// std::size_t cannot hold it.
std::size_t size_of(const Shape& shape);

/// A shape as text: "(2, 3)"; "()" for a scalar.
std::string to_string(const Shape& shape);

/// The shape that `a` and `b` broadcast to, by NumPy's rules. Throws ShapeError, with a message
/// that starts with `op`, when they do not broadcast.
Shape broadcast_shape(const char* op, const Shape& a, const Shape& b);

// Functions that make a tensor of a given shape, such as zeros<float>({2, 3}). To make a tensor of
// given elements, use tensor<float>({{1, 2}, {3, 4}}) of nested_list.hpp.

/// An uninitialised tensor. Throws ShapeError as size_of() does, and std::bad_alloc when memory
/// runs out.
template <class T>
Tensor<T> empty(const Shape& shape) {
  size_of(shape);  // throws if the size overflows, which xtensor does not check
  return Tensor<T>(shape);
}

/// A tensor with all elements equal to `value` and of the type of `value`: full({2, 3}, 0.5f) is a
/// Tensor<float>.
template <class T>
Tensor<T> full(const Shape& shape, T value) {
  Tensor<T> result = empty<T>(shape);
  std::fill_n(result.data(), result.size(), value);
  return result;
}

/// A tensor of zeros.
template <class T>
Tensor<T> zeros(const Shape& shape) {
  return full(shape, T(0));
}

/// A tensor of ones.
template <class T>
Tensor<T> ones(const Shape& shape) {
  return full(shape, T(1));
}

/// x converted to another scalar type.
template <class To, class From>
Tensor<To> cast(const Tensor<From>& x) {
  Tensor<To> result = empty<To>(x.shape());
  std::transform(x.data(), x.data() + x.size(), result.data(), [](From v) { return To(v); });
  return result;
}

/// The multi-dimensional index of the element with the flat index `flat`, as text: "[3, 5]".
std::string index_text(const Shape& shape, std::size_t flat);

/// Whether x is neither infinite nor NaN. Tests the bits, so -ffast-math cannot optimise it away.
bool is_finite_bits(double x);

/// Prints the elements as xtensor does: {{1., 2.}, {3., 4.}}. Abbreviates a tensor of more than
/// 1,000 elements to its edges. Obeys xt::print_options.
template <class T>
std::ostream& operator<<(std::ostream& out, const Tensor<T>& x);

/// The flat index of the first element that is infinite or NaN; nullopt when all are finite. Tests
/// the bits, so -ffast-math cannot optimise it away.
template <class T>
std::optional<std::size_t> first_not_finite(const Tensor<T>& x);

}  // namespace xgrad
