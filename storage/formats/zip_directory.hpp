// Checks the central directory of a zip file, which lists its members. This refuses most files that
// are not archives without reading them.
#pragma once

#include <cstdint>

namespace xgrad {

class InputFile;

/// Returns the size of a zip file. Throws FormatError unless its central directory is directly
/// before its end record and its members fill the bytes before the directory. Reads the last 64
/// KiB, and the directory of at most 16 MiB.
std::uint64_t zip_size(const InputFile& file);

}  // namespace xgrad
