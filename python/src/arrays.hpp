// Arrays between Python and xgrad: what a caller passes becomes a tensor, and a tensor becomes a
// NumPy array.
//
// Elements are not copied where the layout allows: a value shares the memory of the array that it
// was made of, and a result shares the tensor's; each keeps the other alive. Ids and masks are
// copied, since xgrad checks them once and then relies on them.
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

/// The value of an array-like of floats or doubles. It shares the memory of a NumPy array in
/// row-major order whose elements are aligned and in the byte order of the processor; of others it
/// is a copy. Nothing writes to it. Throws TypeError for another dtype.
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
