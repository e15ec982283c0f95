// Pictures as PNG, by libpng.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace xgrad {

/// 3 bytes a pixel, red, green, blue, row by row from the top left.
struct Picture {
  std::size_t width = 0, height = 0;
  std::vector<std::uint8_t> rgb;
};

/// Identical pictures give identical bytes. Throws IoError where a side is 0 or too long for PNG.
std::string to_png(const Picture& picture);

}  // namespace xgrad
