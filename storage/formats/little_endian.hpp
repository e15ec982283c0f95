// Little-endian numbers in bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace xgrad {

/// Reads the unsigned little-endian number of `size` bytes, at most eight, at offset `at`.
/// Requires: at + size <= bytes.size().
inline std::uint64_t little_endian(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = size; i-- > 0;) {
    value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  }
  return value;
}

/// The first `size` bytes of a number, least significant first.
inline std::string to_little_endian(std::uint64_t value, std::size_t size = 8) {
  std::string bytes;
  for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}

}  // namespace xgrad
