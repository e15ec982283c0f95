// Reads files: in parts or as a whole (InputFile), memory-mapped (Mapping), line by line (Lines).
#pragma once

#include <time.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include <xgrad/storage/disk/descriptor.hpp>

namespace xgrad {

/// An open regular file. size() is its size when it was opened.
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

  /// Reads `size` bytes from offset `from`. Throws IoError with path and reason, also when the
  /// bytes do not fit into memory or the file became shorter. Requires: from + size <= size().
  std::string read(std::uint64_t from, std::size_t size) const;
  /// read() into memory of the caller.
  void read(std::uint64_t from, std::size_t size, char* bytes) const;

 private:
  std::string path_;
  detail::Descriptor file_;
  std::uint64_t size_ = 0;
  timespec written_{};  // time of the last change before opening
};

/// Reads a whole file. Throws IoError with path and reason, and reads nothing if the file has more
/// than `most` bytes.
std::string read_whole(const InputFile& file, std::uint64_t most);
/// Reads the whole file at `path`; see read_whole().
std::string read_file(const std::string& path,
                      std::uint64_t most = std::numeric_limits<std::uint64_t>::max());

/// A memory-mapped file: the system reads its bytes when they are needed, and can drop them again.
/// If the file becomes shorter or its disk fails, reading the lost bytes ends the process by
/// SIGBUS.
class Mapping {
 public:
  /// Maps the first `size` bytes of an open file; `path` names it in messages. Throws IoError.
  Mapping(int file, std::size_t size, const std::string& path);
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  /// The bytes.
  std::string_view bytes() const { return {static_cast<const char*>(start_), size_}; }

 private:
  void* start_ = nullptr;
  std::size_t size_;
};

/// The maximum length of a line in bytes. Longer lines are refused, as they could fill the memory.
inline constexpr std::size_t kMostLine = 1 << 20;

/// Reads a file of any size line by line, with one block of it in memory.
class Lines {
 public:
  /// Reads from the start of the file.
  explicit Lines(InputFile file) : file_(std::move(file)) {}

  /// Reads the next line, without its newline; returns false at the end of the file. The last line
  /// may lack a newline. Throws IoError that gives the line number when the line has more than
  /// kMostLine bytes.
  bool next(std::string& line);
  /// Whether the last line read ended in a newline.
  bool has_end() const { return has_end_; }
  /// The number of bytes in all lines read, including newlines.
  std::uint64_t position() const { return position_; }
  /// The number of the last line read, from 1.
  std::uint64_t number() const { return number_; }

 private:
  InputFile file_;
  std::string block_;
  std::size_t used_ = 0;    // bytes of block_ already used
  std::uint64_t read_ = 0;  // bytes of the file already read
  std::uint64_t position_ = 0, number_ = 0;
  bool has_end_ = false;
};

}  // namespace xgrad
