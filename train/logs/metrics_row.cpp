#include <xgrad/train/logs/metrics_row.hpp>

#include <nlohmann/json.hpp>

#include <xgrad/storage/disk/folder.hpp>
#include <xgrad/storage/disk/input_file.hpp>

namespace xgrad {

using Row = nlohmann::ordered_json;

namespace {

/// Empties a row before its destruction. The destructor of a nonempty row allocates memory, and
/// cannot report a failure. For the same reason rows start as objects and are never made from
/// braced lists: a row whose conversion to an object fails could not be destroyed.
class Emptied {
 public:
  explicit Emptied(Row& row) : row_(row) {}
  ~Emptied() {
    if (auto* members = row_.get_ptr<Row::object_t*>()) members->clear();
  }
  Emptied(const Emptied&) = delete;
  Emptied& operator=(const Emptied&) = delete;

 private:
  Row& row_;
};

void put(MetricsRow& row, const Figure& figure) {
  row.numbers.emplace_back(figure.name, figure.value);
  row.numbers.emplace_back(figure.name + "_se", figure.standard_error);
}

void put(Row& row, const MetricsRow& from) {
  row["step"] = from.step;
  if (!from.split.empty()) row["split"] = from.split;
  for (const auto& [name, value] : from.numbers) row[name] = value;
}

void put(Row& row, const std::string& name, const RatioMean& mean) {
  row[name] = mean.mean();
  row[name + "_se"] = mean.standard_error();
}

}  // namespace

MetricsRow metrics_row(std::uint64_t step, const std::string& split, const Metrics& metrics) {
  MetricsRow row{step, split, {}};
  for (const Figure& figure : metrics.figures()) put(row, figure);
  return row;
}

std::string to_json(const MetricsRow& row) {
  Row json(Row::value_t::object);
  const Emptied later(json);
  put(json, row);
  return json.dump();
}

std::string report_row(std::uint64_t step, const std::string& split, const Metrics& metrics,
                       const ClassReport& report, const std::vector<std::string>& names) {
  MetricsRow whole = metrics_row(step, split, metrics);
  put(whole, report.macro_f1());
  Row row(Row::value_t::object);
  const Emptied later(row);
  put(row, whole);
  for (std::size_t c = 0; c < report.classes(); ++c) {
    Row of = {{"class", names[c]}, {"targets", std::uint64_t(report.recall(c).count())}};
    put(of, "precision", report.precision(c));
    put(of, "recall", report.recall(c));
    put(of, "f1", report.f1(c));
    row["classes"].push_back(of);
    if (!report.has_confusion()) continue;
    Row counts;
    for (std::size_t g = 0; g < report.classes(); ++g) counts.push_back(report.confusion(c, g));
    row["confusion"].push_back(counts);
  }
  return row.dump();
}

std::optional<double> MetricsRow::number(const std::string& name) const {
  for (const auto& [key, value] : numbers) {
    if (key == name) return value;
  }
  return std::nullopt;
}

std::optional<MetricsRow> read_row(const std::string& line) {
  if (line.find('\0') != line.npos) return std::nullopt;  // the parser would take it for the end
  Row row = Row::parse(line, nullptr, /*allow_exceptions=*/false);
  const Emptied later(row);
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

}  // namespace xgrad
