#include <xgrad/data/tables/table.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include <xgrad/autograd/check.hpp>
#include <xgrad/text/excerpt.hpp>

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
                   ": is plain text; set task.format to lines or paragraphs: each is then a row");
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

// Formats with a row for each line or paragraph: JSON Lines and plain text.
using Json = nlohmann::json;

constexpr std::size_t kMostBytes = std::size_t(1) << 24;  // bytes per line
constexpr std::size_t kMostOfParser = 300;  // bytes of a parser message, which may quote the line

/// Parses one object. Refuses repeated names; the parser alone would keep only the last of them.
static Json parse_object(const std::string& place, std::string_view line) {
  std::set<std::string> names;
  std::string twice;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& value) {
    if (depth == 1 && event == Json::parse_event_t::key &&
        !names.insert(value.get<std::string>()).second) {
      twice = value.get<std::string>();
    }
    return true;
  };
  check<DataError>(line.find_first_not_of(" \t\r") != line.npos, place, ": is blank");
  Json object;
  try {
    object = Json::parse(line, watch);
  } catch (const Json::exception& error) {
    const std::string text = error.what();  // "[json.exception.parse_error.101] parse error at ..."
    detail::fail<DataError>(
        place, ": is not JSON: ",
        clipped(text.substr(std::min(text.find(' ') + 1, text.size())), kMostOfParser));
  }
  check<DataError>(object.is_object(), place, ": is not an object such as {\"text\": \"...\"}");
  check<DataError>(twice.empty(), place, ": the member ", excerpt(twice), " appears twice");
  return object;
}

static double number(const std::string& place, const Json& value) {
  const double x = value.get<double>();
  const bool exact = value.is_number_float() || std::abs(x) < kMostWhole;
  check<DataError>(std::isfinite(x) && exact, place, ": is ", value.dump(), ", a number too large");
  return x;
}

/// Converts a list of numbers, or of equally long lists of numbers.
static FieldNumbers numbers(const std::string& place, const Json& list) {
  FieldNumbers result{list.size(), 1, {}, true};
  const bool nested = !list.empty() && list[0].is_array();
  if (nested) result.features = list[0].size();
  for (const Json& item : list) {
    check<DataError>(item.is_array() == nested && (nested || item.is_number()), place,
                     ": is a list of mixed types");
    check<DataError>(!nested || item.size() == result.features, place, ": its lists have ",
                     result.features, " and ", item.size(), " numbers, must have equally many");
    for (std::size_t i = 0; i < (nested ? item.size() : 1); ++i) {
      const Json& x = nested ? item[i] : item;
      check<DataError>(x.is_number(), place, ": is a list of numbers, but holds ", x.type_name());
      result.values.push_back(number(place, x));
      result.whole = result.whole && x.is_number_integer();
    }
  }
  check<DataError>(!nested || result.features > 0, place, ": its lists are empty");
  return result;
}

static Field field(const std::string& place, const Json& value) {
  if (value.is_string()) {
    check_text(place, value.get_ref<const std::string&>());
    return value.get<std::string>();
  }
  if (value.is_boolean()) return std::string(value.get<bool>() ? "true" : "false");
  if (value.is_number()) {
    return FieldNumbers{1, 1, {number(place, value)}, value.is_number_integer()};
  }
  check<DataError>(value.is_array(), place, ": is ", value.is_null() ? "null" : "an object",
                   ", must be text, a number or a list of them");
  if (value.empty() || !value[0].is_string()) return numbers(place, value);
  std::vector<std::string> list;
  for (const Json& item : value) {
    check<DataError>(item.is_string(), place, ": is a list of texts, but holds ", item.type_name());
    check_text(place, item.get_ref<const std::string&>());
    list.push_back(item.get<std::string>());
  }
  return list;
}

std::vector<Field> read_json_row(const std::string& place, std::string_view line,
                                 const std::vector<std::string>& columns) {
  const std::size_t bad = invalid_utf8(line);
  check<DataError>(bad == std::string_view::npos, place, ": byte ", bad + 1, " is not UTF-8");
  const Json object = parse_object(place, line);
  std::vector<Field> row;
  for (const std::string& name : columns) {
    const auto found = object.find(name);
    check<DataError>(found != object.end(), place, ": has no member \"", name, "\"");
    row.push_back(field(place + ", column \"" + name + "\"", *found));
  }
  return row;
}

void read_jsonl(ByteStream& bytes, const std::vector<std::string>& columns,
                const VisitBlock& visit) {
  Blocks blocks(bytes, columns, visit);
  std::string line;
  for (std::size_t number = 1; !bytes.at_end(); ++number) {
    const std::string shown = std::to_string(number);
    const std::string place = bytes.name() + ": row " + shown + " (line " + shown + ")";
    std::vector<Field>& row = blocks.add(number);
    bytes.read_line(place, kMostBytes, ", the limit of a line", line);
    row = read_json_row(place, line, columns);
  }
  blocks.finish();
}

void read_plain_text(ByteStream& bytes, const std::vector<std::string>& columns, bool paragraphs,
                     const VisitBlock& visit) {
  check<DataError>(columns.size() == 1, bytes.name(), ": plain text has one column, the text, and ",
                   excerpt(columns.back()), " is not in it; set task.labels to \"next\" or ",
                   "\"masked\"");
  Blocks blocks(bytes, columns, visit);
  std::string line, *paragraph = nullptr;
  for (std::size_t number = 1; !bytes.at_end(); ++number) {
    const std::string place = bytes.name() + ": line " + std::to_string(number);
    bytes.read_line(place, kMostText, "", line);
    check_text(place, line);
    if (line.find_first_not_of(" \t\v\f\r") == line.npos) {
      paragraph = nullptr;
      continue;
    }
    if (paragraph == nullptr || !paragraphs) {
      paragraph = &std::get<std::string>(blocks.add(number).emplace_back(line));
      continue;
    }
    *paragraph += '\n' + line;
    check<DataError>(paragraph->size() <= kMostText, place, ": the paragraph has more than ",
                     kMostText, " bytes");
  }
  blocks.finish();
}

}  // namespace xgrad
