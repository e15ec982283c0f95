// The seal: the last 512 bytes of a checkpoint, which protect all bytes before them.
//
//   offset  size  content (integers little-endian)
//        0     8  magic "XGRADCK1"
//        8     4  format, major: another major is another layout
//       12     4  format, minor: a higher minor adds objects under /trainer that old readers skip
//       16     8  length of the payload, which starts at byte 0 of the file
//       24     8  step
//       32    32  SHA-256 of the payload
//       64   416  zero
//      480    32  SHA-256 of the 480 bytes before
//
// The seal is at the end because HDF5 readers look for their signature at byte 0 and ignore bytes
// after their data.
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

/// Returns the 512 bytes to append to the payload.
std::string make_seal(const Sealed& content);

/// Checks the seal without reading the payload. `start` and `end` are the first and last kSealSize
/// bytes of a file of `size` bytes, or the whole file if it is shorter. Throws NewerFormatError if
/// the seal's own digest is right and the major version is a later one; CheckpointError, which says
/// what kind of file it is, unless the seal's own digest, the major version and the payload length
/// are right.
void check_seal(std::string_view start, std::string_view end, std::uint64_t size);

/// Throws CheckpointError unless the seal holds this digest of the payload.
void check_payload(std::string_view seal, const Sha256& digest);

/// Returns the payload of a whole file as a view into it. Throws as check_seal() does, and
/// CheckpointError if the payload's digest is wrong.
Sealed open_seal(std::string_view file);

}  // namespace xgrad
