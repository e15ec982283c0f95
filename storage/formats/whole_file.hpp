// Reads files in formats that must be in memory as a whole.
#pragma once

#include <cstdint>
#include <string>

namespace xgrad {

class InputFile;

/// The maximum size of such a file: 4 GiB.
constexpr std::uint64_t kMostWholeFile = std::uint64_t(4) << 30;

/// Returns how many bytes of a file belong to its format, reading only a few bytes of it. Throws
/// FormatError when these show a fault.
using Measure = std::uint64_t(const InputFile& file);

/// Reads as many bytes as `measure` says, or the whole file if it is null. Throws FormatError when
/// they are more than kMostWholeFile, and IoError.
std::string read_whole(const InputFile& file, Measure* measure);

}  // namespace xgrad
