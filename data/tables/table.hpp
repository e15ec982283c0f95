// Table: rows and named columns of a user file of any format, and the readers of the formats. The
// readers throw DataError that names the file, row and column.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <xgrad/data/tables/byte_stream.hpp>

namespace xgrad {

/// 2^53: a double holds every whole number of smaller magnitude exactly.
inline constexpr double kMostWhole = 9007199254740992.0;

/// The numbers of one field, all finite: (tokens, features), row-major.
struct FieldNumbers {
  std::size_t tokens = 1;           ///< number of vectors
  std::size_t features = 1;         ///< size of each vector
  std::vector<double> values = {};  ///< the numbers, row-major
  bool whole = false;               ///< whether all are integers
};

/// The value in one row and column: text, a list of words, or numbers.
using Field = std::variant<std::string, std::vector<std::string>, FieldNumbers>;

/// The largest size of a text field in bytes.
inline constexpr std::size_t kMostText = std::size_t(1) << 20;

/// All rows of a file or one block of them, with the requested columns.
struct Table {
  std::string file;                           ///< path of the file
  std::vector<std::string> columns = {};      ///< requested columns, in the requested order
  std::vector<std::vector<Field>> rows = {};  ///< one field per column
  /// Line on which each row begins; empty for formats without lines.
  std::vector<std::size_t> lines = {};
  std::uint64_t fingerprint = 0;  ///< hash of the file; 0 for a block
  std::size_t first = 0;          ///< number of rows before this block

  /// Locates a field for messages: `train.csv: row 2 (line 3), column "text"`. Rows count from 1,
  /// without the header.
  std::string place(std::size_t row, std::size_t column) const;
};

/// Called with each block of rows.
using VisitBlock = std::function<void(const Table& block)>;

/// A function that reads all rows of a source; it can be called any number of times. It calls
/// `visit` with each block and returns the fingerprint of the source. Throws DataError that names
/// the file, row, column and problem. Never skips, fills in or guesses a value.
using Rows = std::function<std::uint64_t(const VisitBlock& visit)>;

/// The rows of a table in memory, as one block.
Rows rows_of(Table table);

/// Opens a table in the format csv, tsv, jsonl, lines, paragraphs, hdf5 or npy; `auto` chooses by
/// the extension. lines, paragraphs: plain text. npy: a folder with COLUMN.npy for each column.
/// Each pass reads block by block. Throws DataError as Rows does.
Rows open_table(const std::string& path, const std::string& format,
                const std::vector<std::string>& columns);

/// Groups rows of a stream into blocks.
class Blocks {
 public:
  /// Calls `visit` with each block. Requires: all arguments outlive this object, except `columns`.
  Blocks(const ByteStream& bytes, const std::vector<std::string>& columns, const VisitBlock& visit);
  /// Adds an empty row that begins on `line`. Returns the row, for the caller to fill.
  std::vector<Field>& add(std::size_t line);
  /// Passes the last rows to `visit`.
  void finish();

 private:
  const ByteStream& bytes_;
  const VisitBlock& visit_;
  Table block_;
  std::uint64_t begin_ = 0;  // position of the block in the stream
};

/// Whether a text is UTF-8, without NUL, and at most kMostText bytes.
bool is_text(std::string_view text);
/// Throws DataError, starting with `place`, unless is_text().
void check_text(const std::string& place, std::string_view text);

/// Reads a header and then rows of separated values, once and in blocks. With commas, RFC 4180:
/// quoted fields may hold commas, line ends and doubled quotes. With tabs, quotes have no meaning,
/// and fields have no tabs.
void read_csv(ByteStream& bytes, const std::vector<std::string>& columns, char separator,
              const VisitBlock& visit);

/// Reads JSON Lines once, in blocks. Each line holds an object. The fields of a row are the members
/// of this object that `columns` lists. A member is text, a number, a boolean (read as text), a
/// list of texts, a list of numbers or a list of equally long lists of numbers.
void read_jsonl(ByteStream& bytes, const std::vector<std::string>& columns,
                const VisitBlock& visit);

/// Parses a line of JSON into one field per column; `file` starts messages. Throws DataError.
std::vector<Field> read_json_row(const std::string& file, std::string_view line,
                                 const std::vector<std::string>& columns);

/// Reads plain text once, in blocks of rows with one column, the text. A row is a line, or a
/// paragraph: consecutive lines, with line feeds between them. Blank lines, empty or of white
/// space, are not rows; they separate paragraphs. A line ends with LF or CR LF.
void read_plain_text(ByteStream& bytes, const std::vector<std::string>& columns, bool paragraphs,
                     const VisitBlock& visit);

/// Opens a table in a folder with COLUMN.npy for each column, in one .npy file (if one column is
/// wanted), or in an HDF5 file with a dataset per column. `format` is npy or hdf5. The first axis
/// counts rows. Each pass reads block by block.
Rows open_arrays(const std::string& path, const std::string& format,
                 const std::vector<std::string>& columns);

}  // namespace xgrad
