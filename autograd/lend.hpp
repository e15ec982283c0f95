// lend(): a value in memory that belongs to someone else.
#pragma once

#include <memory>

#include <xgrad/autograd/variable.hpp>

namespace xgrad {

/// Returns a value of this shape whose elements are those at `data`, in row-major order, without a
/// copy. `owner` keeps the memory; it is released with the last user of the value, by any thread.
/// Requires: nobody calls mutable_value() on it, and the elements do not change while a graph needs
/// them. An empty value shares nothing.
template <class T>
std::shared_ptr<Versioned<T>> lend(const T* data, const Shape& shape,
                                   std::shared_ptr<const void> owner);

}  // namespace xgrad
