// Helpers that write HTML. All text from outside goes through escape().
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <xgrad/storage/formats/png.hpp>

namespace xgrad::html {

/// Escapes text for an element or a quoted attribute: special characters become entities, invalid
/// UTF-8, control characters and what XML forbids U+FFFD.
std::string escape(std::string_view text);

/// Escapes a long name and allows line breaks after each `after`.
std::string breakable(std::string_view text, char after);

/// Returns a table. `rows[0]` holds the column heads, the first cell of each other row is its head.
/// Cells are already HTML.
std::string table(const std::vector<std::vector<std::string>>& rows);

/// The style sheet of pages and pictures.
extern const char* const kStyle;

/// Returns a picture as a data: URI.
std::string uri(const Picture& picture);

}  // namespace xgrad::html
