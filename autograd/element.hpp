// Elements of a tensor by their place in memory.
#pragma once

#include <optional>
#include <string>

#include <xgrad/autograd/tensor.hpp>

namespace xgrad {

/// "[3, 5]" of the element at this place of a tensor of this shape.
std::string index_text(const Shape& shape, std::size_t flat);

/// Whether x is neither infinite nor NaN. Reads the bits, so no compiler flag can remove it.
bool is_finite_bits(double x);

/// The place of the first element that is infinite or NaN; nothing when all are finite. Reads the
/// bits, so no compiler flag can remove it.
template <class T>
std::optional<std::size_t> first_not_finite(const Tensor<T>& x);

}  // namespace xgrad
