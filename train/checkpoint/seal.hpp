// The seal: the last 512 bytes of a checkpoint, which protect all bytes before them
// (docs/checkpoint-format.md). HDF5 readers ignore bytes after their data.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <xgrad/autograd/check.hpp>
#include <xgrad/storage/formats/sha256.hpp>

namespace xgrad {

constexpr std::size_t kSealSize = 512;
constexpr std::uint32_t kFormatMajor = 1;
constexpr std::uint32_t kFormatMinor = 0;

/// Thrown for a file whose seal has a later major version: it is intact, but needs a newer xgrad.
struct NewerFormatError : CheckpointError {
  using CheckpointError::CheckpointError;
};

/// The contents of a sealed file.
struct Sealed {
  std::string_view payload;            ///< all bytes before the seal
  std::uint32_t major = kFormatMajor;  ///< major version of the format
  std::uint32_t minor = kFormatMinor;  ///< minor version of the format
  std::uint64_t step = 0;              ///< step of the checkpoint
};

/// Returns the seal, to append to content.payload; `digest` is the SHA-256 of the payload.
std::string make_seal(const Sealed& content, const Sha256& digest);

/// Returns the contents of a file's seal, and the payload as a view into `file`. Throws
/// NewerFormatError if the seal is intact and its major version is above kFormatMajor. Throws
/// CheckpointError if the seal is missing, is damaged, has a major version below kFormatMajor, or
/// does not match the payload. If it is missing, the message says what kind of file this is.
Sealed open_seal(std::string_view file);

}  // namespace xgrad
