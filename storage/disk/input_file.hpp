// InputFile: a file that is read, by parts or as a whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include <xgrad/storage/disk/descriptor.hpp>

namespace xgrad {

/// An open regular file, of the size that it had when it was opened.
class InputFile {
 public:
  /// Never waits on a FIFO. Throws IoError with path and reason.
  explicit InputFile(const std::string& path);
  /// One that is open; `path` names it in messages. Throws IoError.
  InputFile(detail::Descriptor file, const std::string& path);

  /// Where it lies.
  const std::string& path() const { return path_; }
  /// In bytes.
  std::uint64_t size() const { return size_; }

  /// `size` bytes from byte `from` on. Throws IoError with path and reason, also where they do not
  /// fit into memory or are no longer there. Requires: from + size <= size().
  std::string read(std::uint64_t from, std::size_t size) const;
  /// The same into memory of the caller.
  void read(std::uint64_t from, std::size_t size, char* bytes) const;

 private:
  std::string path_;
  detail::Descriptor file_;
  std::uint64_t size_ = 0;
};

/// Reads a whole file of at most `most` bytes, and nothing of a larger one. Throws IoError with
/// path and reason.
std::string read_file(const std::string& path,
                      std::uint64_t most = std::numeric_limits<std::uint64_t>::max());

/// What a file begins and ends with.
struct FileEnds {
  std::string start;       ///< its first bytes
  std::string end;         ///< its last, which may be the same
  std::uint64_t size = 0;  ///< of the whole file
};

/// Reads `most` bytes at either end, or all where the file is shorter. Throws IoError.
FileEnds read_ends(const InputFile& file, std::size_t most);

}  // namespace xgrad
