// NumPy's .npy: one array, with its type and shape in front.
//
//   "\x93NUMPY" 1 0 | u16 N, little-endian | N bytes of text, padded so that the data are aligned |
//   data
//
//   {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
#pragma once

#include <string>
#include <string_view>

#include <xgrad/storage/formats/tensors.hpp>

namespace xgrad {

/// '<f4', '<f8', '<i4', or '|b1' for a mask; row-major.
template <class T>
std::string to_npy(const Tensor<T>& tensor);

/// '<f4' or '<f8', in either order of axes, of any version that NumPy writes. Throws
/// CheckpointError on everything else, and unless the data are exactly what the shape needs.
AnyTensor from_npy(std::string_view bytes);

}  // namespace xgrad
