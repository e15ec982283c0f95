// Table: named columns of a user's file, in whatever format it came.
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

/// 2^53: whole numbers below it, either way from 0, are exact in double.
inline constexpr double kMostWhole = 9007199254740992.0;

/// Numbers of one field, all finite: (tokens, features), row-major.
struct Numbers {
  std::size_t tokens = 1;           ///< vectors
  std::size_t features = 1;         ///< numbers of each
  std::vector<double> values = {};  ///< (tokens, features)
  bool whole = false;               ///< all are integers, exactly
};

/// What stands in a row under a column: text, a list of words, or numbers.
using Field = std::variant<std::string, std::vector<std::string>, Numbers>;

/// Bytes that a text may have.
inline constexpr std::size_t kMostText = std::size_t(1) << 20;

/// Rows of one file under some of its columns: all, or a block of them.
struct Table {
  std::string file;                           ///< its path
  std::vector<std::string> columns = {};      ///< those asked for, in that order
  std::vector<std::vector<Field>> rows = {};  ///< a field for each of the columns
  std::vector<std::size_t> lines = {};  ///< where each row begins; empty where there are no lines
  std::uint64_t fingerprint = 0;        ///< a hash of the file; of a block 0
  std::size_t first = 0;                ///< rows of the file before these

  /// `train.csv: row 2 (line 3), column "text"`; rows count from 1, without a header.
  std::string place(std::size_t row, std::size_t column) const;
};

/// Is given a block of rows.
using VisitBlock = std::function<void(const Table& block)>;

/// All rows of a source, which can be passed over any number of times.
class Rows {
 public:
  /// Passes over them once.
  using Pass = std::function<std::uint64_t(const VisitBlock& visit)>;

  /// Those of a table, as one block.
  Rows(Table table);
  /// Those of what `pass` reads.
  explicit Rows(Pass pass) : pass_(std::move(pass)) {}

  /// Gives `visit` each block in turn and returns the source's fingerprint. Throws DataError that
  /// names the file, the row and the column, and what is wrong there: nothing is skipped, filled in
  /// or guessed.
  std::uint64_t operator()(const VisitBlock& visit) const { return pass_(visit); }

 private:
  Pass pass_;
};

/// The rows of a file in the format csv, tsv, jsonl, hdf5 or npy; auto tells it by the ending of
/// its name. A npy table is a folder with COLUMN.npy for each column. Arrays are read here, text in
/// each pass, a block at a time. Throws DataError as passing over them does.
Rows open_table(const std::string& path, const std::string& format,
                const std::vector<std::string>& columns);

/// Gathers rows of a stream to blocks.
class Blocks {
 public:
  /// `visit` is given each block.
  Blocks(const ByteStream& bytes, const std::vector<std::string>& columns, const VisitBlock& visit);
  /// An empty row, which begins in this line.
  std::vector<Field>& add(std::size_t line);
  /// Hands over what is left.
  void finish();

 private:
  const ByteStream& bytes_;
  const VisitBlock& visit_;
  Table block_;
  std::uint64_t begin_ = 0;  // of the block in the stream
};

/// Whether there is something of this name.
bool file_exists(const std::string& path);

/// Where each of the wanted columns is among those of a file. Throws DataError when one is missing.
std::vector<std::size_t> find_columns(const std::string& file,
                                      const std::vector<std::string>& wanted,
                                      const std::vector<std::string>& columns);

/// Whether a text is UTF-8 without NUL and not huge.
bool is_text(std::string_view text);
/// Throws DataError, starting with `place`, unless is_text().
void check_text(const std::string& place, std::string_view text);

}  // namespace xgrad
