// npz: NumPy's zip archive of arrays, with one .npy per tensor, under its name.
#pragma once

#include <string>
#include <string_view>

#include <xgrad/storage/formats/tensors.hpp>

namespace xgrad {

/// Serializes weights; the text becomes the comment of the archive. Identical weights give
/// identical bytes.
///
/// Throws FormatError on a repeated name, and NumericError on a tensor that is not finite.
std::string to_npz(const WeightFile& weights);

/// Parses an archive as numpy.savez and numpy.savez_compressed write it. Returns the tensors in the
/// order of the file; ignores the comment.
///
/// Throws FormatError that names the tensor when it is damaged, not an array of float32 or float64,
/// or not finite.
WeightFile from_npz(std::string_view bytes);

}  // namespace xgrad
