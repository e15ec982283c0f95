// ByteStream: the bytes of a file of any size, one after another, and who is told of it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <xgrad/data/text/text.hpp>
#include <xgrad/storage/disk/input_file.hpp>

namespace xgrad {

/// Bytes in their order, of which a part is in memory.
class ByteStream {
 public:
  /// Of a file. Throws DataError that names it.
  explicit ByteStream(const std::string& path);
  /// Of what is in memory; `name` stands before messages.
  ByteStream(std::string name, std::string_view bytes);

  /// The path, or the name.
  const std::string& name() const { return name_; }
  /// The next bytes; none at the end alone. Throws DataError where they cannot be read.
  std::string_view ahead() {
    if (ahead_.empty()) fill();
    return ahead_;
  }
  /// Passes over the next n. Requires: ahead() has so many.
  void skip(std::size_t n) { ahead_.remove_prefix(n); }
  /// Whether none is left.
  bool at_end() { return ahead().empty(); }
  /// Passes over the next byte if it is this one.
  bool take(char c) {
    if (at_end() || ahead_.front() != c) return false;
    skip(1);
    return true;
  }
  /// How many have been passed over.
  std::uint64_t position() const { return read_ - ahead_.size(); }
  /// stable_hash() of all bytes. Requires: at_end().
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

/// While one lives, `watch` is told on this thread how many bytes of a file have been read, and how
/// many it has: after each MiB, and at its end.
class WatchReading {
 public:
  /// See the class.
  using Watch =
      std::function<void(const std::string& path, std::uint64_t read, std::uint64_t size)>;

  /// From now on, to the end of the block.
  explicit WatchReading(Watch watch);
  ~WatchReading();
  WatchReading(const WatchReading&) = delete;
  WatchReading& operator=(const WatchReading&) = delete;

 private:
  friend class ByteStream;
  static thread_local WatchReading* current;

  Watch watch_;
  WatchReading* before_;
};

/// Reads all bytes of a file, or no more than it takes to see that it does not begin with `start`,
/// which its reader then says. Throws DataError that names the file.
std::string read_bytes(const std::string& path, std::string_view start = "");

}  // namespace xgrad
