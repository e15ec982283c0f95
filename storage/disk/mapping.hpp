// Mapping: the first bytes of a file, which the system reads when they are needed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace xgrad {

/// Bytes of a file in memory that the system can take back. If the file becomes shorter or its disk
/// fails, reading them ends the process by SIGBUS.
class Mapping {
 public:
  /// Maps `size` bytes of an open file; `path` names it in messages. Throws IoError.
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

}  // namespace xgrad
