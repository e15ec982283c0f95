// Formats tables, for a terminal or as CSV.
#pragma once

#include <string>
#include <vector>

namespace xgrad {

/// Alignment of a cell in its column.
enum class Align { left, right };

/// Formats rows of cells as columns, two spaces apart, with `indentation` before each row. `align`
/// has an element for each column; further columns use its last element. Widths count UTF-8
/// characters, not bytes.
std::string text_table(const std::vector<std::vector<std::string>>& rows,
                       const std::vector<Align>& align = {Align::left, Align::right},
                       const std::string& indentation = "");

/// A line of comma-separated values (RFC 4180), without a line end.
std::string csv_line(const std::vector<std::string>& cells);

}  // namespace xgrad
