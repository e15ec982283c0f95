// Formats tables, for a terminal or as CSV.
#pragma once

#include <string>
#include <vector>

namespace xgrad {

/// Alignment of a cell in its column.
enum class Align { left, right };

/// Formats rows of cells as columns, two spaces apart, with `indentation` before each row. Column i
/// has the alignment align[i]; columns beyond the end of `align` have its last alignment. Widths
/// count UTF-8 characters, not bytes.
std::string text_table(const std::vector<std::vector<std::string>>& rows,
                       const std::vector<Align>& align = {Align::left, Align::right},
                       const std::string& indentation = "");

/// A line of comma-separated values (RFC 4180), without a line end.
std::string csv_line(const std::vector<std::string>& cells);

}  // namespace xgrad
