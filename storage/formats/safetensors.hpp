// safetensors: the file in which PyTorch's world exchanges weights.
//
//   u64 N, little-endian | N bytes of JSON, padded with spaces to a multiple of 8 | data
//
//   {"__metadata__":{"format":"pt"},"head.bias":{"dtype":"F32","shape":[10],"data_offsets":[0,40]}}
//
// The tensors' bytes, little-endian and row-major, fill the data without a hole. F64 stand before
// F32 and then go by name, as the format's own library writes them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <xgrad/storage/formats/tensors.hpp>

namespace xgrad {

/// The metadata hold the text as "config", xgrad's version and the SHA-256 of the data. Identical
/// weights give identical bytes.
///
/// Throws CheckpointError on a name that comes twice or is not UTF-8, NumericError on a tensor that
/// is not finite.
std::string to_safetensors(const WeightFile& weights);

/// How much of a file of `size` bytes stands before the data, by its `first` nine bytes. Throws
/// CheckpointError, which does not name the file, where they are no safetensors' or a header would
/// be too long.
std::size_t safetensors_start(std::string_view first, std::uint64_t size);
/// Throws CheckpointError, which does not name the file, unless the tensors of the header in
/// `start`, all that stands before the data, take every other byte of a file of `size` bytes. What
/// this refuses need not be read.
void check_safetensors(std::string_view start, std::uint64_t size);

/// The tensors in the order of the data, and the text from xgrad's own metadata; those of other
/// writers are ignored.
///
/// Throws CheckpointError, with `origin` and the tensor in the message, on whatever is malformed:
/// holes, overlaps, bytes left over, names that come twice, sizes that do not fit, types other than
/// F32 and F64, numbers that are not finite, data of another SHA-256 than xgrad's metadata say.
/// Nothing is allocated for a tensor before its size is known to be in the file.
WeightFile from_safetensors(std::string_view bytes, const std::string& origin);

}  // namespace xgrad
