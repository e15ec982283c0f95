#include <algorithm>
#include <array>
#include <set>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/nearest.hpp>
#include <xgrad/data/tables/table.hpp>
#include <xgrad/text/excerpt.hpp>

namespace xgrad {

namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::size_t kMostColumns = std::size_t(1) << 16;
constexpr std::size_t kMostOfHeader = std::size_t(1) << 24;  // bytes of all column names

constexpr std::size_t kMostListed = 1000;  // bytes of a list of columns in a message

// The index of each wanted column among the columns of a file.
std::vector<std::size_t> find_columns(const std::string& file,
                                      const std::vector<std::string>& wanted,
                                      const std::vector<std::string>& columns) {
  std::vector<std::size_t> places;
  for (const std::string& name : wanted) {
    const auto found = std::find(columns.begin(), columns.end(), name);
    if (found == columns.end()) {
      std::vector<std::string> there = nearest_first(name, columns);
      for (std::string& other : there) other = excerpt(other);
      detail::fail<DataError>(file, ": has no column ", excerpt(name), "; it has ",
                              clipped(joined(there), kMostListed));
    }
    places.push_back(std::size_t(found - columns.begin()));
  }
  return places;
}

class CsvReader {
 public:
  CsvReader(ByteStream& bytes, char separator)
      : bytes_(bytes), separator_(separator), quotes_(separator == ',') {
    for (const char c : {separator_, '\n', '\r'}) ends_[static_cast<unsigned char>(c)] = true;
    if (quotes_) ends_['"'] = true;
    if (bytes_.ahead().starts_with(kByteOrderMark)) bytes_.skip(kByteOrderMark.size());
    check<DataError>(!bytes_.at_end(), bytes_.name(), ": is empty");
    header_ = record();
    check_names();
  }

  const std::vector<std::string>& header() const { return header_; }
  std::size_t line() const { return line_; }

  // Reads the next record; the fields are valid until the next call.
  const std::vector<std::string>& record() {
    record_line_ = line_;
    fields_.resize(header_.size());  // keeps the memory of all fields between records
    count_ = 0;
    std::size_t size = 0;  // bytes of all fields
    do {
      check_count();  // a field takes many times the memory of a separator
      if (count_ == fields_.size()) fields_.emplace_back();
      read_field(fields_[count_]);
      size += fields_[count_].size();
      if (header_.empty() && size > kMostOfHeader) {
        detail::fail<DataError>(place(), ": its names have more than ", kMostOfHeader, " bytes");
      }
      if (!is_text(fields_[count_])) check_text(place(count_), fields_[count_]);
      ++count_;
    } while (bytes_.take(separator_));
    if (!bytes_.at_end() && !bytes_.take('\n')) {
      if (!bytes_.take('\r') || !bytes_.take('\n')) {
        fail(count_ - 1, "has a carriage return without a line feed");
      }
    }
    ++line_;
    if (header_.empty()) return fields_;
    if (count_ != header_.size()) {
      detail::fail<DataError>(place(), ": has ", count_, " of the header's ", header_.size(),
                              " fields");
    }
    ++row_;
    return fields_;
  }

 private:
  void read_field(std::string& text) {
    text.clear();
    if (quotes_ && bytes_.take('"')) return read_quoted(text);
    while (!bytes_.at_end()) {
      const std::string_view ahead = bytes_.ahead();
      std::size_t size = 0;
      while (size < ahead.size() && !ends_[static_cast<unsigned char>(ahead[size])]) ++size;
      append(text, ahead.substr(0, size));
      if (size == ahead.size()) continue;
      if (quotes_ && bytes_.ahead().front() == '"') {
        fail(count_, "has a quote, but does not begin with one");
      }
      return;
    }
  }

  void read_quoted(std::string& text) {
    while (!bytes_.at_end()) {
      const std::string_view ahead = bytes_.ahead();
      append(text, ahead.substr(0, std::min(ahead.find_first_of("\"\n"), ahead.size())));
      if (bytes_.take('\n')) {
        ++line_;
        text += '\n';
      } else if (bytes_.take('"')) {
        if (bytes_.take('"')) {
          text += '"';
          continue;
        }
        if (!bytes_.at_end() && !ends_[static_cast<unsigned char>(bytes_.ahead().front())]) {
          fail(count_, "has text after the closing quote");
        }
        return;
      }
    }
    fail(count_, "has no closing quote");
  }

  // Appends and skips `part`. Fails as soon as the field is too long, without looking for its end.
  void append(std::string& text, std::string_view part) {
    if (text.size() + part.size() > kMostText) {
      detail::fail<DataError>(place(count_), ": has more than ", kMostText,
                              " bytes, the limit of a field");
    }
    text += part;
    bytes_.skip(part.size());
  }

  // Locates this record: "train.csv: row 2 (line 3)".
  std::string place() const {
    const std::string row = header_.empty() ? "header" : "row " + std::to_string(row_ + 1);
    return bytes_.name() + ": " + row + " (line " + std::to_string(record_line_) + ")";
  }
  std::string place(std::size_t column) const {
    if (header_.empty()) return bytes_.name() + ": header, column " + std::to_string(column + 1);
    return place() + ", column " +
           (column < header_.size() ? excerpt(header_[column]) : std::to_string(column + 1));
  }

  [[noreturn]] void fail(std::size_t column, const char* what) const {
    detail::fail<DataError>(place(column), ": ", what);
  }

  void check_count() const {
    if (count_ < (header_.empty() ? kMostColumns : header_.size())) return;
    if (header_.empty()) detail::fail<DataError>(place(), ": has more than ", count_, " columns");
    detail::fail<DataError>(place(), ": has more than the ", count_, " fields of the header");
  }

  void check_names() const {
    std::set<std::string> seen;
    for (std::size_t i = 0; i < header_.size(); ++i) {
      check<DataError>(!header_[i].empty(), bytes_.name(), ": header, column ", i + 1,
                       ": has no name");
      check<DataError>(seen.insert(header_[i]).second, bytes_.name(), ": header, column ", i + 1,
                       ": the name ", excerpt(header_[i]), " appears twice");
    }
  }

  ByteStream& bytes_;
  char separator_;
  bool quotes_;
  std::array<bool, 256> ends_{};  // whether a byte ends an unquoted field
  std::size_t line_ = 1, record_line_ = 1, row_ = 0;
  std::vector<std::string> header_, fields_;
  std::size_t count_ = 0;  // fields of this record so far
};

}  // namespace

void read_csv(ByteStream& bytes, const std::vector<std::string>& columns, char separator,
              const VisitBlock& visit) {
  CsvReader reader(bytes, separator);
  const std::vector<std::size_t> wanted = find_columns(bytes.name(), columns, reader.header());
  Blocks blocks(bytes, columns, visit);
  while (!bytes.at_end()) {
    const std::size_t line = reader.line();
    const std::vector<std::string>& fields = reader.record();
    std::vector<Field>& row = blocks.add(line);
    for (const std::size_t column : wanted) row.emplace_back(fields[column]);
  }
  blocks.finish();
}

}  // namespace xgrad
