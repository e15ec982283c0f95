// The JSON header of a safetensors file.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace xgrad {

struct SafetensorsHeader {
  struct Entry {
    std::string name;
    std::string dtype;                 ///< type, such as "F32"
    std::vector<std::uint64_t> shape;  ///< sizes of the axes, at most 32
    std::uint64_t begin = 0, end = 0;  ///< byte range, from the first byte of data
  };

  static constexpr const char* kMetadata = "__metadata__";  ///< key of the metadata

  std::map<std::string, std::string> metadata;
  std::vector<Entry> entries;
};

/// Writes the header: metadata first, then the entries in order, without spaces. Throws FormatError
/// on text that is not UTF-8.
std::string print_header(const SafetensorsHeader& header);

/// Parses a header. Throws FormatError that names the entry when it is not JSON, a name is
/// repeated, or a key or value does not belong to the format. Allocates at most a few times the
/// size of the text.
SafetensorsHeader parse_header(std::string_view json);

}  // namespace xgrad
