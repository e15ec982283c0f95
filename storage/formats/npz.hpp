// npz: NumPy's archive of arrays, one .npy a tensor, under its name.
#pragma once

#include <string>
#include <string_view>

#include <xgrad/storage/formats/tensors.hpp>

namespace xgrad {

/// The text is the archive's comment. Identical weights give identical bytes.
///
/// Throws CheckpointError on a name that comes twice, NumericError on a tensor that is not finite.
std::string to_npz(const WeightFile& weights);

/// The tensors in the order of the file, as numpy.savez and numpy.savez_compressed write them; the
/// comment is ignored.
///
/// Throws CheckpointError, with `origin` and the tensor in the message, on whatever is damaged, is
/// no array of float32 or float64, or is not finite.
WeightFile from_npz(std::string_view bytes, const std::string& origin);

}  // namespace xgrad
