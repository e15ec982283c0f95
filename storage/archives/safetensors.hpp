// safetensors: the format in which PyTorch users exchange weights. A file holds the length of the
// header, then the header, then the data. The header is JSON padded with spaces. The bytes of the
// tensors, little-endian and row-major, fill the data without gaps. xgrad writes all F64 tensors,
// sorted by name, then all F32 tensors, sorted by name, as the format's own library does.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <xgrad/storage/formats/tensors.hpp>

namespace xgrad {

/// Serializes weights. The metadata hold weights.text as "config", the version of xgrad and the
/// SHA-256 of the data. Identical weights give identical bytes. Throws FormatError on a repeated or
/// invalid name and on a text that is not UTF-8, and NumericError on a tensor that is not finite.
std::string to_safetensors(const WeightFile& weights);

/// Parses a file. Returns the tensors in the order of the data, and the text if xgrad wrote the
/// metadata; other metadata are ignored. Throws FormatError that names the tensor on anything
/// malformed: gaps, overlaps, trailing bytes, repeated names, wrong sizes, types other than F32 and
/// F64, numbers that are not finite, and data that do not match the SHA-256 in xgrad's metadata.
/// Allocates memory for a tensor only after checking that the file has its bytes.
WeightFile from_safetensors(std::string_view file);

}  // namespace xgrad
