// IDX files made by a test.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <string>
#include <vector>

namespace xgrad {

inline std::string idx_bytes(const std::vector<std::uint32_t>& extents, const std::string& values) {
  std::string bytes = {0, 0, 8, char(extents.size())};
  for (std::uint32_t extent : extents) {
    for (int shift : {24, 16, 8, 0}) bytes += char(extent >> shift);
  }
  return bytes + values;
}

inline std::string gzip(const std::string& plain) {
  z_stream stream = {};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string result(deflateBound(&stream, plain.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
  stream.avail_in = unsigned(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = unsigned(result.size());
  deflate(&stream, Z_FINISH);
  result.resize(stream.total_out);
  deflateEnd(&stream);
  return result;
}

}  // namespace xgrad
