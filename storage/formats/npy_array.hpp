// NumPy's .npy as data: arrays of numbers and texts.
#pragma once

#include <string_view>

#include <xgrad/storage/formats/array.hpp>

namespace xgrad {

/// Reads NumPy's format (versions 1 to 3): numbers and booleans of little-endian or single bytes,
/// and texts, in C order. Throws DataError that starts with `place`; objects that would have to be
/// unpickled are refused.
Array read_npy(const std::string& place, std::string_view bytes);

}  // namespace xgrad
