// The JSON at the beginning of a safetensors file.
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
    std::string dtype;                 ///< "F32", "F64", ...
    std::vector<std::uint64_t> shape;  ///< at most 32 extents
    std::uint64_t begin = 0, end = 0;  ///< its bytes, counted from the first byte of data
  };

  static constexpr const char* kMetadata = "__metadata__";  ///< the key of the metadata

  std::map<std::string, std::string> metadata;
  std::vector<Entry> entries;
};

/// Metadata first, then the entries in their order, without spaces. Throws CheckpointError on text
/// that is not UTF-8.
std::string print_header(const SafetensorsHeader& header);

/// Throws CheckpointError, which names the entry, on what is no JSON, a name that comes twice, and
/// keys and values of other kinds than the format has. Allocates no more than a few times the text.
SafetensorsHeader parse_header(std::string_view json);

}  // namespace xgrad
