#include <xgrad/data/files/csv.hpp>

#include <set>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/files/text.hpp>

namespace xgrad {

namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

class CsvReader {
 public:
  CsvReader(const std::string& file, std::string_view bytes, CsvKind kind)
      : file_(file),
        bytes_(bytes),
        separator_(kind == CsvKind::csv ? ',' : '\t'),
        quotes_(kind == CsvKind::csv) {
    if (bytes_.starts_with(kByteOrderMark)) bytes_.remove_prefix(kByteOrderMark.size());
    check<DataError>(!bytes_.empty(), file_, ": is empty");
    header_ = record();
    check_header();
  }

  const std::vector<std::string>& header() const { return header_; }
  bool at_end() const { return at_ == bytes_.size(); }
  std::size_t line() const { return line_; }

  std::vector<std::string> record() {
    record_line_ = line_;
    fields_.clear();
    do {
      fields_.push_back(field());
      check_text(place(fields_.size() - 1), fields_.back());
    } while (take(separator_));
    if (!at_end() && !take('\n')) {
      if (!take('\r') || !take('\n')) fail("a carriage return without a line feed");
    }
    ++line_;
    if (!header_.empty()) {
      ++row_;
      check<DataError>(fields_.size() == header_.size(), file_, ": row ", row_, " (line ",
                       record_line_, "): has ", fields_.size(), " fields, the header has ",
                       header_.size());
    }
    return fields_;
  }

 private:
  bool take(char c) {
    if (at_end() || bytes_[at_] != c) return false;
    ++at_;
    return true;
  }

  std::string field() {
    if (quotes_ && take('"')) return quoted();
    std::string text;
    for (; !at_end(); ++at_) {
      const char c = bytes_[at_];
      if (c == separator_ || c == '\n' || c == '\r') break;
      if (quotes_ && c == '"') fail_here("a quote inside a field that does not begin with one");
      text += c;
    }
    return text;
  }

  std::string quoted() {
    std::string text;
    while (!at_end()) {
      const char c = bytes_[at_++];
      if (c == '"' && !take('"')) {
        const bool ends =
            at_end() || bytes_[at_] == separator_ || bytes_[at_] == '\n' || bytes_[at_] == '\r';
        if (!ends) fail_here("text behind the closing quote");
        return text;
      }
      if (c == '\n') ++line_;
      text += c;
    }
    fail_here("the quotes are never closed");
  }

  std::string place(std::size_t column) const {
    if (header_.empty()) return file_ + ": header, column " + std::to_string(column + 1);
    std::string text = file_ + ": row " + std::to_string(row_ + 1) + " (line " +
                       std::to_string(record_line_) + "), column ";
    return text +
           (column < header_.size() ? "\"" + header_[column] + "\"" : std::to_string(column + 1));
  }

  [[noreturn]] void fail_here(const char* what) const {
    detail::fail<DataError>(place(fields_.size()), ": ", what);
  }
  [[noreturn]] void fail(const char* what) const {
    detail::fail<DataError>(place(fields_.size() - 1), ": ", what);
  }

  void check_header() const {
    std::set<std::string> seen;
    for (std::size_t i = 0; i < header_.size(); ++i) {
      check<DataError>(!header_[i].empty(), file_, ": header, column ", i + 1, ": has no name");
      check<DataError>(seen.insert(header_[i]).second, file_, ": header, column ", i + 1,
                       ": there is a column ", excerpt(header_[i]), " already");
    }
  }

  std::string file_;
  std::string_view bytes_;
  char separator_;
  bool quotes_;
  std::size_t at_ = 0, line_ = 1, record_line_ = 1, row_ = 0;
  std::vector<std::string> header_, fields_;
};

}  // namespace

Table read_csv(const std::string& file, std::string_view bytes,
               const std::vector<std::string>& columns, CsvKind kind) {
  CsvReader reader(file, bytes, kind);
  const std::vector<std::size_t> wanted = find_columns(file, columns, reader.header());
  Table table{.file = file, .columns = columns, .fingerprint = stable_hash(bytes)};
  while (!reader.at_end()) {
    table.lines.push_back(reader.line());
    std::vector<std::string> fields = reader.record();
    std::vector<Field> row;
    for (std::size_t column : wanted) row.emplace_back(fields[column]);
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace xgrad
