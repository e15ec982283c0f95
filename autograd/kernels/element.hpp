// Finds and names elements of a tensor by their flat index.
#pragma once

#include <optional>
#include <string>

#include <xgrad/autograd/tensor.hpp>

namespace xgrad {

/// The index of element `flat` of a tensor of this shape, as "[3, 5]".
std::string index_text(const Shape& shape, std::size_t flat);

/// Whether x is neither infinite nor NaN. Reads the bits, so no compiler flag can remove it.
bool is_finite_bits(double x);

/// The flat index of the first element that is infinite or NaN; nullopt when all are finite. Reads
/// the bits, so no compiler flag can remove it.
template <class T>
std::optional<std::size_t> first_not_finite(const Tensor<T>& x);

}  // namespace xgrad
