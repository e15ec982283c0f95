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

/// The file is sealed with a later major version: it is intact, but needs a newer xgrad.
struct NewerFormatError : CheckpointError {
  using CheckpointError::CheckpointError;
};

struct Sealed {
  std::string_view payload;
  std::uint32_t major = kFormatMajor;
  std::uint32_t minor = kFormatMinor;
  std::uint64_t step = 0;
};

/// Returns the bytes to append to a payload with this digest.
std::string make_seal(const Sealed& content, const Sha256& digest);

/// Returns what the seal of a whole file says, and its payload as a view into it. Throws
/// NewerFormatError if the seal's own digest is right and the major version is a later one;
/// CheckpointError, which says what kind of file it is, unless the seal's own digest, the major
/// version, and length and digest of the payload are right.
Sealed open_seal(std::string_view file);

}  // namespace xgrad
