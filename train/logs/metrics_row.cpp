#include <xgrad/train/logs/metrics_row.hpp>

#include <algorithm>
#include <nlohmann/json.hpp>

#include <xgrad/storage/disk/folder.hpp>
#include <xgrad/storage/disk/input_file.hpp>

namespace xgrad {

namespace {

using Json = nlohmann::ordered_json;

// JSON that empties itself before its destruction, because the destructor of nonempty JSON
// allocates memory and cannot report a failure. For the same reason, a row starts as an object and
// is never made from a braced list: if the conversion to an object failed, the list would have to
// be destroyed.
struct Row : Json {
  Row() : Json(value_t::object) {}
  Row(const Row&) = delete;
  ~Row() {
    if (auto* members = get_ptr<object_t*>()) members->clear();
  }
};

void put(Row& row, const MetricsRow& from) {
  row["step"] = from.step;
  if (!from.split.empty()) row["split"] = from.split;
  for (const auto& [name, value] : from.numbers) row[name] = value;
}

void put(Json& row, const std::string& name, double value, double standard_error) {
  row[name] = value;
  row[name + "_se"] = standard_error;
}

// A line of a log.
struct Line {
  enum class Kind { row, bad, later } kind;
  std::uint64_t place = 0;  //< of a row; a run writes them in this order, and each once
  std::uint64_t begin = 0;  //< its first byte
};

Line line_of(const std::string& text, bool has_end, std::uint64_t step, bool validated) {
  const std::optional<MetricsRow> row = read_row(text);
  if (!row) return {has_end ? Line::Kind::bad : Line::Kind::later};
  const bool validation = row->split == "validation";
  const bool later =
      row->step > step || row->split == "test" || (row->step == step && validation && !validated);
  return later ? Line{Line::Kind::later} : Line{Line::Kind::row, 2 * row->step + validation};
}

// Marks as few rows as possible as bad, so that the places (steps) of all other rows increase.
void mark_misplaced(std::vector<Line>& lines) {
  // ends[k]: among the increasing series of k + 1 rows so far, the last row with the lowest place.
  std::vector<std::size_t> ends, before(lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].kind != Line::Kind::row) continue;
    lines[i].kind = Line::Kind::bad;
    const auto at = std::ranges::lower_bound(ends, lines[i].place, {},
                                             [&](std::size_t row) { return lines[row].place; });
    if (at != ends.begin()) before[i] = at[-1];
    if (at == ends.end()) {
      ends.push_back(i);
    } else {
      *at = i;
    }
  }
  for (std::size_t left = ends.size(), i = left > 0 ? ends.back() : 0; left > 0; --left) {
    lines[i].kind = Line::Kind::row;
    i = before[i];
  }
}

}  // namespace

MetricsRow metrics_row(std::uint64_t step, const std::string& split, const Metrics& metrics) {
  MetricsRow row{step, split, {}};
  for (const Figure& figure : metrics.figures()) {
    row.numbers.emplace_back(figure.name, figure.value);
    row.numbers.emplace_back(figure.name + "_se", figure.standard_error);
  }
  return row;
}

std::string to_json(const MetricsRow& row) {
  Row json;
  put(json, row);
  return json.dump();
}

std::string report_row(std::uint64_t step, const std::string& split, const Metrics& metrics,
                       const ClassReport& report, const std::vector<std::string>& names) {
  Row row;
  put(row, metrics_row(step, split, metrics));
  const Figure macro = report.macro_f1();
  put(row, macro.name, macro.value, macro.standard_error);
  for (std::size_t c = 0; c < report.classes(); ++c) {
    Json of = {{"class", names[c]}, {"targets", std::uint64_t(report.recall(c).count())}};
    for (const auto& [name, mean] :
         {std::pair("precision", report.precision(c)), std::pair("recall", report.recall(c)),
          std::pair("f1", report.f1(c))}) {
      put(of, name, mean.mean(), mean.standard_error());
    }
    row["classes"].push_back(of);
    if (!report.has_confusion()) continue;
    Json counts;
    for (std::size_t g = 0; g < report.classes(); ++g) counts.push_back(report.confusion(c, g));
    row["confusion"].push_back(counts);
  }
  return row.dump();
}

std::optional<double> MetricsRow::number(const std::string& name) const {
  const auto found = std::ranges::find(numbers, name, [](auto& pair) { return pair.first; });
  return found == numbers.end() ? std::nullopt : std::optional(found->second);
}

std::optional<MetricsRow> read_row(const std::string& line) {
  if (line.find('\0') != line.npos) return std::nullopt;  // the parser would end here
  Row row;
  static_cast<Json&>(row) = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!row.is_object() || !row.contains("step") || !row["step"].is_number_unsigned()) {
    return std::nullopt;
  }
  MetricsRow read{row["step"].get<std::uint64_t>(), "", {}};
  for (const auto& [name, value] : row.items()) {
    if (name == "split" && value.is_string()) read.split = value.get<std::string>();
    if (name != "step" && value.is_number()) read.numbers.emplace_back(name, value.get<double>());
  }
  return read;
}

std::vector<MetricsRow> read_metrics(const Folder& run, const std::string& name) {
  std::vector<MetricsRow> rows;
  if (!run.holds(name)) return rows;
  Lines lines(run.input(name));
  for (std::string line; lines.next(line);) {
    if (auto row = read_row(line)) rows.push_back(std::move(*row));
  }
  return rows;
}

RowsUntil rows_until(const Folder& run, const std::string& log, std::uint64_t step,
                     bool validated) {
  std::vector<Line> lines;
  Lines reader(run.input(log));
  RowsUntil found;
  for (std::string text; reader.next(text); found.end = reader.position()) {
    found.has_end = reader.has_end();
    lines.push_back(line_of(text, found.has_end, step, validated));
    lines.back().begin = found.end;
  }
  mark_misplaced(lines);
  const auto last = std::ranges::find(lines.rbegin(), lines.rend(), Line::Kind::row, &Line::kind);
  const auto end = std::ranges::find(last.base(), lines.end(), Line::Kind::later, &Line::kind);
  if (end != lines.end()) found = {.end = end->begin};
  for (auto line = lines.begin(); line != end; ++line) {
    if (line->kind != Line::Kind::row) found.bad.push_back(std::uint64_t(line - lines.begin()) + 1);
  }
  return found;
}

}  // namespace xgrad
