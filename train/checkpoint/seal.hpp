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
#include <xgrad/storage/disk/input_file.hpp>
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

/// Returns the 512 bytes to append to a payload with this digest.
std::string make_seal(const Sealed& content, const Sha256& digest);

/// Returns the payload of a whole file as a view into it. Throws NewerFormatError if the seal's own
/// digest is right and the major version is a later one; CheckpointError, which says what kind of
/// file it is, unless the seal's own digest, the major version, the payload's length and digest are
/// right.
Sealed open_seal(std::string_view file);

/// Checks a file as open_seal() does, with its path in errors, and returns the SHA-256 of all its
/// bytes as text. Holds little of it in memory. If the seal is not valid, reads only both ends.
/// Throws IoError.
std::string check_sealed(const InputFile& file);

}  // namespace xgrad
