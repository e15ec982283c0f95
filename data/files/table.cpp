#include <xgrad/data/files/table.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/nearest.hpp>
#include <xgrad/data/files/arrays.hpp>
#include <xgrad/data/files/csv.hpp>
#include <xgrad/data/files/jsonl.hpp>
#include <xgrad/data/files/text.hpp>

namespace xgrad {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostText = std::size_t(1) << 20;  // bytes of a field

std::string format_of(const std::string& path) {
  if (fs::is_directory(path)) return "npy";
  const std::string ending = fs::path(path).extension().string();
  const std::pair<const char*, const char*> known[] = {
      {".csv", "csv"}, {".tsv", "tsv"},   {".jsonl", "jsonl"}, {".ndjson", "jsonl"},
      {".h5", "hdf5"}, {".hdf5", "hdf5"}, {".npy", "npy"},
  };
  for (const auto& [name, format] : known) {
    if (ending == name) return format;
  }
  detail::fail<DataError>(path,
                          ": the name does not tell the format; set task.format to csv, tsv, ",
                          "jsonl, hdf5 or npy");
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

}  // namespace

std::string Table::place(std::size_t row, std::size_t column) const {
  std::string text = file + ": row " + std::to_string(row + 1);
  if (row < lines.size()) text += " (line " + std::to_string(lines[row]) + ")";
  return text + ", column \"" + columns[column] + "\"";
}

bool file_exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

std::string read_bytes(const std::string& path) {
  std::error_code error;
  const auto status = fs::status(path, error);
  check<DataError>(fs::exists(status), path, ": there is no such file");
  check<DataError>(fs::is_regular_file(status), path, ": is not a regular file");
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string bytes(fs::file_size(path, error), '\0');
  check<DataError>(file && !error, path, ": cannot be read: ", std::strerror(errno));
  file.read(bytes.data(), std::streamsize(bytes.size()));
  check<DataError>(std::size_t(file.gcount()) == bytes.size(), path,
                   ": became shorter while it was read");
  return bytes;
}

std::vector<std::size_t> find_columns(const std::string& file,
                                      const std::vector<std::string>& wanted,
                                      const std::vector<std::string>& columns) {
  std::vector<std::size_t> places;
  for (const std::string& name : wanted) {
    const auto found = std::find(columns.begin(), columns.end(), name);
    if (found == columns.end()) {
      detail::fail<DataError>(file, ": has no column \"", name, "\"; it has ",
                              joined(nearest_first(name, columns)));
    }
    places.push_back(std::size_t(found - columns.begin()));
  }
  return places;
}

void check_text(const std::string& place, std::string_view text) {
  check<DataError>(text.size() <= kMostText, place, ": has ", text.size(),
                   " bytes; a field has at most ", kMostText);
  const std::size_t zero = text.find('\0');
  check<DataError>(zero == std::string_view::npos, place, ": byte ", zero + 1, " is NUL");
  const std::size_t bad = invalid_utf8(text);
  check<DataError>(bad == std::string_view::npos, place, ": byte ", bad + 1, " is not UTF-8");
}

Table read_table(const std::string& path, const std::string& format,
                 const std::vector<std::string>& columns) {
  check<DataError>(fs::exists(path), path, ": there is no such file");
  const std::string how = format == "auto" ? format_of(path) : format;
  Table table;
  if (how == "csv" || how == "tsv") {
    table = read_csv(path, read_bytes(path), columns, how == "csv" ? CsvKind::csv : CsvKind::tsv);
  } else if (how == "jsonl") {
    table = read_jsonl(path, read_bytes(path), columns);
  } else {
    table = read_arrays(path, how, columns);
  }
  check<DataError>(!table.rows.empty(), path, ": has no rows");
  return table;
}

}  // namespace xgrad
