// Formats tables for a terminal.
#pragma once

#include <string>
#include <vector>

namespace xgrad {

/// Alignment of a cell in its column.
enum class Align { left, right };

/// Formats rows of cells as columns, two spaces apart, with `indentation` before each row. The
/// first column is left-aligned; `others` aligns the rest. Widths count UTF-8 characters, not
/// bytes.
std::string text_table(const std::vector<std::vector<std::string>>& rows,
                       Align others = Align::right, const std::string& indentation = "");

}  // namespace xgrad
