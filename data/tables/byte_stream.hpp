// ByteStream: reads a file of any size in order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/storage/formats/tensors.hpp>
#include <xgrad/text/text.hpp>

namespace xgrad {

/// Runs `work`, turning its FormatError or IoError into a DataError that names the file.
template <class Work>
auto as_data_error(const std::string& path, const Work& work) try {
  return work();
} catch (const FormatError& error) {
  throw DataError(path + ": " + error.what());
} catch (const IoError& error) {
  throw DataError(error.what());
}

/// A sequence of bytes, with one block of them in memory. WatchProgress is told how
/// many bytes of a file were read.
class ByteStream {
 public:
  /// Opens a file. Throws DataError that names it.
  explicit ByteStream(const std::string& path);
  /// Reads from memory. Error messages begin with `name`. Requires: `bytes` outlives the stream.
  ByteStream(std::string name, std::string_view bytes);

  /// The path of the file, or the name given.
  const std::string& name() const { return name_; }
  /// The next bytes; empty only at the end. Throws DataError when they cannot be read.
  std::string_view ahead() {
    if (ahead_.empty()) fill();
    return ahead_;
  }
  /// Skips n bytes. Requires: n <= ahead().size().
  void skip(std::size_t n) { ahead_.remove_prefix(n); }
  /// Whether all bytes were read.
  bool at_end() { return ahead().empty(); }
  /// Skips the next byte if it is `c`; returns whether it was.
  bool take(char c) {
    if (at_end() || ahead_.front() != c) return false;
    skip(1);
    return true;
  }
  /// Reads a line into `line` and skips its end, LF or CR LF. Throws DataError for a line of more
  /// than `most` bytes, without reading the rest. `place` starts the message, `what` ends the
  /// message.
  void read_line(const std::string& place, std::size_t most, const char* what, std::string& line);
  /// The number of bytes skipped so far.
  std::uint64_t position() const { return read_ - ahead_.size(); }
  /// stable_hash() of the whole stream. Requires: at_end().
  std::uint64_t fingerprint() const { return hash_.value(); }

 private:
  void fill();

  std::string name_;
  std::optional<InputFile> file_;
  std::uint64_t size_;
  std::uint64_t read_ = 0;
  std::string buffer_;
  std::string_view ahead_;
  StableHash hash_;
};

/// Throws DataError unless the path exists. If `package` is not empty, the message
/// says that this Debian package has the file.
void check_exists(const std::string& path, const std::string& package = "");

/// Reads the file at a path. Throws as check_exists(), and DataError that names the file if it
/// cannot be read or has more than 4 GiB.
std::string read_bytes(const std::string& path, const std::string& package = "");

}  // namespace xgrad
