// TemporaryFolder: a directory that its destructor removes. Scratch: bytes in memory or in a file.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>

#include <xgrad/storage/disk/input_file.hpp>

namespace xgrad {

/// Creates an empty directory in TMPDIR (by default /tmp), or in another folder. The
/// destructor removes it with its contents, but only in the process that created it.
class TemporaryFolder {
 public:
  /// Creates it in TMPDIR, by default in /tmp. Throws IoError.
  TemporaryFolder();
  /// Creates it in `above`. Throws IoError.
  explicit TemporaryFolder(const std::string& above);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  /// Its path.
  const std::string& path() const { return path_; }
  /// The path of the file `name` in it.
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  /// Keeps the directory: the destructor will not remove it.
  void keep() { owner_ = 0; }

 private:
  std::string path_;
  pid_t owner_;
};

/// Bytes that are written once and then read in any order. Up to 4 MiB stay in memory. If there are
/// more, all bytes go to a temporary file, which is then mapped, so that the system can take the
/// memory back. The file has no name and vanishes with the last process that uses it, however that
/// process ends. It lies in the folder that the environment variable TMPDIR names, or in /var/tmp.
class Scratch {
 public:
  /// The largest number of bytes that stay in memory.
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
