// Arrays between Python and xgrad: what a caller passes becomes a tensor, and a tensor becomes a
// NumPy array.
//
// A caller's array is copied, so that later changes of the array do not reach the graph. A result
// shares the tensor's memory and keeps it alive.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>

#include <xgrad/autograd/variable.hpp>

namespace xgrad::python {

/// numpy.asarray(value).
nanobind::object as_array(nanobind::handle value);

/// Whether it is a number of Python, which takes the scalar type of what it meets.
bool is_number(nanobind::handle value);

/// Whether an array-like holds float32. Throws TypeError when it holds neither float32 nor float64.
/// A number of Python counts as float64.
bool is_single(nanobind::handle value);

/// The value of an array-like of floats or doubles, copied. Throws TypeError for another dtype.
template <class T>
std::shared_ptr<Versioned<T>> to_value(nanobind::handle value);

/// The same, converted to doubles from any dtype of numbers, as a tensor of its own.
Tensor<double> to_doubles(nanobind::handle value);

/// Integers as ids. Throws TypeError for other types, and ValueError for integers beyond 32 bits.
Ids to_ids(nanobind::handle array);

/// Booleans or integers as a mask: 1 where they are not 0. Throws TypeError for other types.
Mask to_mask(nanobind::handle array);

/// An array that shares the tensor's memory. It is read-only, since ops may need the values that it
/// shows.
template <class T>
nanobind::object to_numpy(std::shared_ptr<const Tensor<T>> tensor);

}  // namespace xgrad::python
