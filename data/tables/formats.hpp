// The formats of tables. Each reader throws DataError that names the file, row and column. This
// header is not installed.
#pragma once

#include <xgrad/data/tables/byte_stream.hpp>
#include <xgrad/data/tables/table.hpp>

namespace xgrad {

/// Reads values with a header once, in blocks. With commas, RFC 4180: quoted fields may hold
/// commas, line ends and doubled quotes. With tabs, no quotes, and no tabs within a field.
void read_csv(ByteStream& bytes, const std::vector<std::string>& columns, char separator,
              const VisitBlock& visit);

/// Reads JSON Lines once, in blocks: the named members of the object on each line. A member is
/// text, a number, a boolean (read as text), a list of texts, a list of numbers or a list of
/// equally long lists of numbers.
void read_jsonl(ByteStream& bytes, const std::vector<std::string>& columns,
                const VisitBlock& visit);

/// Parses a single line of JSON; `file` starts messages.
std::vector<Field> read_json_row(const std::string& file, std::string_view line,
                                 const std::vector<std::string>& columns);

/// Reads plain text once, in blocks of rows with one column, the text. A row is a line, or a
/// paragraph: consecutive lines, with line feeds between them. Blank lines, empty or of white
/// space, are no rows; they separate paragraphs. A line ends with LF or CR LF.
void read_plain_text(ByteStream& bytes, const std::vector<std::string>& columns, bool paragraphs,
                     const VisitBlock& visit);

/// Opens a table in a folder with COLUMN.npy for each column, in one .npy file (if one column is
/// wanted), or in an HDF5 file with a dataset per column. `format` is npy or hdf5. The first axis
/// counts rows. Each pass reads block by block.
Rows open_arrays(const std::string& path, const std::string& format,
                 const std::vector<std::string>& columns);

}  // namespace xgrad
