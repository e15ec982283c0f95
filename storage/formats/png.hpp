// Pictures as PNG, by libpng, and bytes as Base64, for HTML pages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace xgrad {

/// An RGB image: 3 bytes per pixel, row by row from the top left.
struct Picture {
  std::size_t width = 0, height = 0;
  std::vector<std::uint8_t> rgb;
};

/// Encodes a picture; identical pictures give identical bytes. Throws IoError when a side is 0 or
/// too long for PNG.
std::string to_png(const Picture& picture);

/// Encodes bytes as Base64 of RFC 4648, with padding.
std::string to_base64(std::string_view bytes);

}  // namespace xgrad
