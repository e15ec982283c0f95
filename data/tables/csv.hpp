// Reads comma- and tab-separated values with a header.
#pragma once

#include <xgrad/data/tables/byte_stream.hpp>
#include <xgrad/data/tables/table.hpp>

namespace xgrad {

/// csv: RFC 4180; quoted fields may hold commas, line ends and doubled quotes. tsv: no quotes, no
/// tabs within a field.
enum class CsvKind { csv, tsv };

/// Reads a file once, in blocks. Throws DataError that names the file, row and column on too many
/// or too few fields, unmatched quotes, a missing, unnamed or repeated column, or text that is not
/// UTF-8.
void read_csv(ByteStream& bytes, const std::vector<std::string>& columns, CsvKind kind,
              const VisitBlock& visit);

}  // namespace xgrad
