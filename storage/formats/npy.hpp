// NumPy's .npy: one array after a header with its type and shape.
//
//   "\x93NUMPY" 1 0 | u16 N, little-endian | N bytes of text, padded for alignment | data
//
//   {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <xgrad/storage/formats/array.hpp>

namespace xgrad {

class InputFile;

/// Serializes a tensor as '<f4', '<f8', '<i4', or '|b1' for a mask; row-major.
template <class T>
std::string to_npy(const Tensor<T>& tensor);

/// Returns the size of a npy file. Throws FormatError unless the file has the size that its header
/// requires. Reads only the header.
std::uint64_t npy_size(const InputFile& file);

/// Parses a npy file of any version that NumPy writes: little-endian or one-byte numbers, booleans,
/// and texts, row-major or column-major. Throws FormatError on anything else, including objects
/// that would need unpickling, and data of a size other than the shape needs.
Array read_npy(std::string_view bytes);

}  // namespace xgrad
