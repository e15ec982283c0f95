// Tables for a terminal.
#pragma once

#include <string>
#include <vector>

namespace xgrad {

/// Rows of cells in columns, two spaces apart: the first column to the left, the others to the
/// right. Counts characters, of which UTF-8 may need several bytes.
std::string text_table(const std::vector<std::vector<std::string>>& rows);

}  // namespace xgrad
