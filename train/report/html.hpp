// HTML as text: everything that comes from outside goes through escape().
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <xgrad/storage/formats/png.hpp>

namespace xgrad::html {

/// Text for an element or a quoted attribute. Characters that mean something are written as
/// entities; bytes that are no UTF-8 and control characters become U+FFFD.
std::string escape(std::string_view text);

/// A table: `rows[0]` holds the column heads, the first cell of each other row is its head. Cells
/// are HTML already.
std::string table(const std::vector<std::vector<std::string>>& rows);

/// A picture as a data: URI.
std::string uri(const Picture& picture);

}  // namespace xgrad::html
