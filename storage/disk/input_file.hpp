// InputFile: a file open for reading, in parts or as a whole.
#pragma once

#include <time.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include <xgrad/storage/disk/descriptor.hpp>

namespace xgrad {

/// An open regular file. Its size is the one at opening.
class InputFile {
 public:
  /// Opens a file; never blocks on a FIFO. Throws IoError with path and reason.
  explicit InputFile(const std::string& path);
  /// Takes an open file; `path` names it in messages. Throws IoError.
  InputFile(detail::Descriptor file, const std::string& path);

  /// The path.
  const std::string& path() const { return path_; }
  /// The size in bytes.
  std::uint64_t size() const { return size_; }
  /// The descriptor of the open file.
  int descriptor() const { return file_; }
  /// Whether somebody has written to the file since it was opened. Throws IoError.
  bool has_changed() const;

  /// Reads `size` bytes from offset `from`. Throws IoError with path and reason, also when they do
  /// not fit into memory or the file became shorter. Requires: from + size <= size().
  std::string read(std::uint64_t from, std::size_t size) const;
  /// The same, into memory of the caller.
  void read(std::uint64_t from, std::size_t size, char* bytes) const;

 private:
  std::string path_;
  detail::Descriptor file_;
  std::uint64_t size_ = 0;
  timespec written_{};  // the last time before opening
};

/// Reads a whole file. Throws IoError with path and reason, and reads nothing if the file has more
/// than `most` bytes.
std::string read_whole(const InputFile& file, std::uint64_t most);
/// Reads the whole file at `path`; see read_whole().
std::string read_file(const std::string& path,
                      std::uint64_t most = std::numeric_limits<std::uint64_t>::max());

}  // namespace xgrad
