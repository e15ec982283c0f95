// Table: named columns of a user's file, in whatever format it came.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

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

/// Rows of one file under some of its columns.
struct Table {
  std::string file;                           ///< its path
  std::vector<std::string> columns = {};      ///< those asked for, in that order
  std::vector<std::vector<Field>> rows = {};  ///< a field for each of the columns
  std::vector<std::size_t> lines = {};  ///< where each row begins; empty where there are no lines
  std::uint64_t fingerprint = 0;        ///< a hash of the file

  /// `train.csv: row 2 (line 3), column "text"`; rows count from 1, without a header.
  std::string place(std::size_t row, std::size_t column) const;
};

/// Reads a file, strictly, in the format csv, tsv, jsonl, hdf5 or npy; auto tells it by the ending
/// of its name. A npy table is a folder with COLUMN.npy for each column.
///
/// Throws DataError that names the file, the row and the column, and what is wrong there: nothing
/// is skipped, filled in or guessed.
Table read_table(const std::string& path, const std::string& format,
                 const std::vector<std::string>& columns);

/// Whether there is something of this name.
bool file_exists(const std::string& path);

/// Reads all bytes of a file. Throws DataError that names it.
std::string read_bytes(const std::string& path);

/// Where each of the wanted columns is among those of a file. Throws DataError when one is missing.
std::vector<std::size_t> find_columns(const std::string& file,
                                      const std::vector<std::string>& wanted,
                                      const std::vector<std::string>& columns);

/// Throws DataError, starting with `place`, unless the text is UTF-8 without NUL and not huge.
void check_text(const std::string& place, std::string_view text);

}  // namespace xgrad
