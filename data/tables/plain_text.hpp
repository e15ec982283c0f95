// Reads plain text: a row for each line or paragraph.
#pragma once

#include <xgrad/data/tables/byte_stream.hpp>
#include <xgrad/data/tables/table.hpp>

namespace xgrad {

/// What a row is. lines: a line; paragraphs: consecutive lines, with line feeds between them. Blank
/// lines, empty or of white space, are no rows; they separate paragraphs.
enum class TextRows { lines, paragraphs };

/// Reads a file once, in blocks of rows with one column, the text. A line ends with LF or CR LF.
/// Throws DataError that names the file and the line when more than one column is wanted, a row is
/// longer than kMostText or a line is not UTF-8.
void read_plain_text(ByteStream& bytes, const std::vector<std::string>& columns, TextRows kind,
                     const VisitBlock& visit);

}  // namespace xgrad
