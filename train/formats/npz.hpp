// npz: NumPy's archive of arrays, one .npy a tensor, under its name.
#pragma once

#include <string>
#include <string_view>

#include <xgrad/train/checkpoint.hpp>

namespace xgrad {

/// A checkpoint's parameters; its config is the archive's comment. Identical parameters and configs
/// give identical bytes.
///
/// Throws CheckpointError on a name that comes twice, NumericError on a tensor that is not finite.
std::string to_npz(const Checkpoint& checkpoint);

/// The parameters in the order of the file, as numpy.savez and numpy.savez_compressed write them;
/// the comment is left alone.
///
/// Throws CheckpointError, with `origin` and the tensor in the message, on whatever is damaged, is
/// no array of float32 or float64, or is not finite.
Checkpoint from_npz(std::string_view bytes, const std::string& origin);

}  // namespace xgrad
