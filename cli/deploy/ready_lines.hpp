// Lines of a pipe or a terminal, as they come.
#pragma once

#include <string>
#include <vector>

namespace xgrad::commands {

class ReadyLines {
 public:
  explicit ReadyLines(int descriptor) : descriptor_(descriptor) {}

  /// Waits for a line, and adds those that are there already, at most `most` in all; empty at the
  /// end. The last line may lack its line feed; a carriage return before one goes with it. Throws
  /// IoError.
  std::vector<std::string> next(std::size_t most);

 private:
  bool take(std::string& line);
  bool is_ready() const;
  void fill();

  int descriptor_;
  std::string buffer_;
  std::size_t begin_ = 0;  // of what was not taken
  bool ended_ = false;
};

}  // namespace xgrad::commands
