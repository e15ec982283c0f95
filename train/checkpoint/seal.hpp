// The seal: the last 512 bytes of a checkpoint, which vouch for all bytes before them.
//
//   offset  size  content (integers little-endian)
//        0     8  magic "XGRADCK1"
//        8     4  format, major: another major is another layout
//       12     4  format, minor: a higher minor adds objects under /trainer that an older reader
//       may leave unread 16     8  length of the payload, which starts at byte 0 of the file 24 8
//       step 32    32  SHA-256 of the payload 64   416  zero
//      480    32  SHA-256 of the 480 bytes before
//
// It stands at the end because readers of HDF5 look for their signature at byte 0 and ignore what
// follows their data.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <xgrad/autograd/check.hpp>

namespace xgrad {

constexpr std::size_t kSealSize = 512;
constexpr std::uint32_t kFormatMajor = 1;
constexpr std::uint32_t kFormatMinor = 0;

/// A sealed file of a later major: not damaged, but for a newer xgrad to read.
struct NewerFormatError : CheckpointError {
  using CheckpointError::CheckpointError;
};

struct Sealed {
  std::string_view payload;
  std::uint32_t major = kFormatMajor;
  std::uint32_t minor = kFormatMinor;
  std::uint64_t step = 0;
};

/// The 512 bytes that belong behind the payload.
std::string make_seal(const Sealed& content);

/// Throws NewerFormatError where the seal's own digest holds and the major is a later one;
/// CheckpointError, which says what kind of file came instead, unless the seal's own digest
/// holds, the major is ours and the length is the file's. `start` and `end` are what a file of
/// `size` bytes begins and ends with: kSealSize bytes each, or all where it is shorter. What this
/// refuses need not be read.
void check_seal(std::string_view start, std::string_view end, std::uint64_t size);

/// The payload of a whole file, a view into it. Throws as check_seal(), and CheckpointError unless
/// the payload's digest holds.
Sealed open_seal(std::string_view file);

}  // namespace xgrad
