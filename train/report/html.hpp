// HTML as text: everything that comes from outside goes through escape().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace xgrad::html {

/// Text for an element or a quoted attribute. Characters that mean something are written as
/// entities; bytes that are no UTF-8 and control characters become U+FFFD.
std::string escape(std::string_view text);

/// A table: `rows[0]` holds the column heads, the first cell of each other row is its head. Cells
/// are HTML already.
std::string table(const std::vector<std::vector<std::string>>& rows);

/// A picture as a data: URI: an uncompressed bitmap of 3 bytes a pixel, red, green, blue, from the
/// top left.
std::string bitmap_uri(std::size_t width, std::size_t height, const std::vector<std::uint8_t>& rgb);

}  // namespace xgrad::html
