// ReadyLines: reads lines from a pipe or terminal as they arrive.
#pragma once

#include <string>
#include <vector>

namespace xgrad::commands {

class ReadyLines {
 public:
  explicit ReadyLines(int descriptor) : descriptor_(descriptor) {}

  /// Waits for one line, then adds lines that are ready, up to `most`; empty at the end of the
  /// input. Removes line ends, \n or \r\n; the last line may lack one. The start of a line above
  /// kMostText bytes comes as a line, itself above kMostText, as soon as it is read, and the rest
  /// of that line is dropped. Throws IoError when reading fails.
  std::vector<std::string> next(std::size_t most);

 private:
  bool take(std::string& line);
  bool is_ready() const;
  void fill();

  int descriptor_;
  std::string buffer_;
  std::size_t begin_ = 0;     // where the next line begins in buffer_
  std::size_t searched_ = 0;  // bytes of buffer_ before this hold no end of that line
  bool rest_ = false;         // whether what follows belongs to a line that was returned
  bool ended_ = false;
};

}  // namespace xgrad::commands
