#include <xgrad/data/tables/table.hpp>

#include <algorithm>
#include <filesystem>
#include <memory>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/excerpt.hpp>

namespace xgrad {

namespace fs = std::filesystem;

constexpr std::size_t kBlock = std::size_t(1) << 20;  // bytes of rows per block

static std::string format_of(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return "npy";
  const std::string ending = fs::path(path).extension().string();
  const std::pair<const char*, const char*> known[] = {
      {".csv", "csv"}, {".tsv", "tsv"},   {".jsonl", "jsonl"}, {".ndjson", "jsonl"},
      {".h5", "hdf5"}, {".hdf5", "hdf5"}, {".npy", "npy"},
  };
  for (const auto& [name, format] : known) {
    if (ending == name) return format;
  }
  check<DataError>(ending != ".txt", path,
                   ": is plain text; set task.format to lines or paragraphs, which are its rows");
  detail::fail<DataError>(path,
                          ": cannot tell the format from the name; set task.format to csv, tsv, ",
                          "jsonl, lines, paragraphs, hdf5 or npy");
}

std::string Table::place(std::size_t row, std::size_t column) const {
  std::string text = file + ": row " + std::to_string(first + row + 1);
  if (row < lines.size()) text += " (line " + std::to_string(lines[row]) + ")";
  return text + ", column " + excerpt(columns[column]);
}

bool is_text(std::string_view text) {
  return text.size() <= kMostText && text.find('\0') == text.npos &&
         invalid_utf8(text) == text.npos;
}

void check_text(const std::string& place, std::string_view text) {
  check<DataError>(text.size() <= kMostText, place, ": has ", text.size(),
                   " bytes, must have at most ", kMostText);
  const std::size_t zero = text.find('\0');
  check<DataError>(zero == std::string_view::npos, place, ": byte ", zero + 1, " is NUL");
  const std::size_t bad = invalid_utf8(text);
  check<DataError>(bad == std::string_view::npos, place, ": byte ", bad + 1, " is not UTF-8");
}

Blocks::Blocks(const ByteStream& bytes, const std::vector<std::string>& columns,
               const VisitBlock& visit)
    : bytes_(bytes), visit_(visit), block_{.file = bytes.name(), .columns = columns} {}

std::vector<Field>& Blocks::add(std::size_t line) {
  if (bytes_.position() >= begin_ + kBlock) finish();
  block_.lines.push_back(line);
  return block_.rows.emplace_back();
}

void Blocks::finish() {
  if (block_.rows.empty()) return;
  const std::size_t next = block_.first + block_.rows.size();
  visit_(block_);
  block_.first = next;
  block_.rows.clear();
  block_.lines.clear();
  begin_ = bytes_.position();
}

Rows rows_of(Table table) {
  return [all = std::make_shared<const Table>(std::move(table))](const VisitBlock& visit) {
    visit(*all);
    return all->fingerprint;
  };
}

Rows open_table(const std::string& path, const std::string& format,
                const std::vector<std::string>& columns) {
  check_exists(path);
  const std::string kind = format == "auto" ? format_of(path) : format;
  if (kind == "hdf5" || kind == "npy") return open_arrays(path, kind, columns);
  return [path, kind, columns](const VisitBlock& visit) {
    ByteStream bytes(path);
    bool any = false;
    const auto watched = [&](const Table& block) {
      any = true;
      visit(block);
    };
    if (kind == "jsonl") {
      read_jsonl(bytes, columns, watched);
    } else if (kind == "lines" || kind == "paragraphs") {
      read_plain_text(bytes, columns, kind == "paragraphs", watched);
    } else {
      read_csv(bytes, columns, kind == "csv" ? ',' : '\t', watched);
    }
    check<DataError>(any, path, ": has no rows");
    return bytes.fingerprint();
  };
}

}  // namespace xgrad
