// Comma- and tab-separated values with a header.
#pragma once

#include <xgrad/data/tables/byte_stream.hpp>
#include <xgrad/data/tables/table.hpp>

namespace xgrad {

/// csv: RFC 4180, fields in quotes may hold commas, line ends and doubled quotes. tsv: no quotes,
/// no tabs inside a field.
enum class CsvKind { csv, tsv };

/// Passes over the rows of a file once, in blocks. Throws DataError that names the file, the row
/// and the column: fields too many or too few, quotes that do not match, a column that is missing,
/// nameless or there twice, text that is no UTF-8.
void read_csv(ByteStream& bytes, const std::vector<std::string>& columns, CsvKind kind,
              const VisitBlock& visit);

}  // namespace xgrad
