// Comma- and tab-separated values with a header.
#pragma once

#include <string_view>

#include <xgrad/data/files/table.hpp>

namespace xgrad {

/// csv: RFC 4180, fields in quotes may hold commas, line ends and doubled quotes. tsv: no quotes,
/// no tabs inside a field.
enum class CsvKind { csv, tsv };

/// Throws DataError that names the file, the row and the column: fields too many or too few, quotes
/// that do not match, a column that is missing, nameless or there twice, text that is no UTF-8.
Table read_csv(const std::string& file, std::string_view bytes,
               const std::vector<std::string>& columns, CsvKind kind);

}  // namespace xgrad
