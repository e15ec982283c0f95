// Lines: reads a file of any size line by line.
#pragma once

#include <cstdint>
#include <string>

#include <xgrad/storage/disk/input_file.hpp>

namespace xgrad {

/// The maximum length of a line in bytes. Longer lines are not kept in memory.
inline constexpr std::size_t kMostLine = 1 << 20;

/// Reads a file line by line, with one block of it in memory.
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
