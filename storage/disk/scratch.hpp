// Scratch: bytes that are written once and then read in any order, without holding memory that the
// system cannot take back.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <xgrad/storage/disk/descriptor.hpp>
#include <xgrad/storage/disk/mapping.hpp>

namespace xgrad {

/// A sequence of bytes. A few stay in memory. More are written to a temporary file, which is then
/// mapped: the system keeps its pages in memory while there is room, and reads them again from the
/// disk when they are needed. The file has no name, so it vanishes with the last process that uses
/// it, however that ends. It lies in the folder that the environment variable TMPDIR names, or else
/// in /var/tmp.
class Scratch {
 public:
  /// Most bytes that stay in memory.
  static constexpr std::size_t kMostInMemory = std::size_t(4) << 20;

  Scratch() = default;
  /// Maps the bytes of another process; `shared` is what its share() returned. Throws IoError.
  explicit Scratch(const std::string& shared);
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  /// Appends bytes. Throws IoError if they cannot be written. Requires: finish() was not called.
  void append(const void* bytes, std::size_t size);
  /// Ends the writing; from then on, data() is valid. Throws IoError.
  void finish();

  /// Number of bytes.
  std::size_t size() const { return size_; }
  /// All bytes. Requires: finish() was called.
  const char* data() const { return mapping_ ? mapping_->bytes().data() : buffer_.data(); }

  /// Returns a text with which other processes of this machine and user can map the bytes while
  /// this object lives. Throws IoError. Requires: finish() was called.
  std::string share();

 private:
  void write_out();

  std::string buffer_;  // bytes that are not in the file
  std::optional<detail::Descriptor> file_;
  std::optional<Mapping> mapping_;
  std::size_t size_ = 0;
};

}  // namespace xgrad
