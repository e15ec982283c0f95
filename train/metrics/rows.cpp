#include <xgrad/train/metrics/rows.hpp>

#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

namespace xgrad {

using Row = nlohmann::ordered_json;

namespace {

/// Empties a row before it goes: the destructor of one with members asks for memory, and may not
/// throw where there is none. So rows are not made of lists in braces, and are objects from the
/// start: one that fails to become an object cannot be destroyed.
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

void put(Row& row, const std::string& name, double value, double standard_error) {
  row[name] = value;
  row[name + "_se"] = standard_error;
}

void put(Row& row, const std::string& name, const RatioMean& mean) {
  put(row, name, mean.mean(), mean.standard_error());
}

void put(Row& row, std::uint64_t step, const std::string& split, const Metrics& metrics) {
  row["step"] = step;
  row["split"] = split;
  for (const Figure& figure : metrics.figures()) {
    put(row, figure.name, figure.value, figure.standard_error);
  }
}

}  // namespace

std::string metrics_row(std::uint64_t step, const std::string& split, const Metrics& metrics,
                        std::optional<double> lr, std::optional<double> grad_norm,
                        std::optional<double> head_diversity) {
  Row row(Row::value_t::object);
  const Emptied later(row);
  put(row, step, split, metrics);
  if (lr) row["lr"] = *lr;
  if (grad_norm) row["grad_norm"] = *grad_norm;
  if (head_diversity) row["head_diversity"] = *head_diversity;
  return row.dump();
}

std::string report_row(std::uint64_t step, const std::string& split, const Metrics& metrics,
                       const ClassReport& report, const std::vector<std::string>& names) {
  Row row(Row::value_t::object);
  const Emptied later(row);
  put(row, step, split, metrics);
  const Figure f1 = report.macro_f1();
  put(row, f1.name, f1.value, f1.standard_error);
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

std::string timing_row(std::uint64_t step, double seconds, double tokens_per_second) {
  Row row(Row::value_t::object);
  const Emptied later(row);
  row["step"] = step;
  row["seconds"] = seconds;
  row["tokens_per_second"] = tokens_per_second;
  return row.dump();
}

std::optional<double> MetricsRow::number(const std::string& name) const {
  for (const auto& [key, value] : numbers) {
    if (key == name) return value;
  }
  return std::nullopt;
}

std::vector<MetricsRow> read_metrics(const std::string& text) {
  std::vector<MetricsRow> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    Row row = Row::parse(line, nullptr, /*allow_exceptions=*/false);
    const Emptied later(row);
    if (!row.is_object() || !row.contains("step") || !row["step"].is_number_unsigned()) continue;
    MetricsRow read{row["step"].get<std::uint64_t>(), "", {}};
    for (const auto& [name, value] : row.items()) {
      if (name == "split" && value.is_string()) read.split = value.get<std::string>();
      if (name != "step" && value.is_number()) read.numbers.emplace_back(name, value.get<double>());
    }
    rows.push_back(std::move(read));
  }
  return rows;
}

std::uint64_t row_step(const std::string& line) {
  Row row = Row::parse(line, nullptr, /*allow_exceptions=*/false);
  const Emptied later(row);
  const bool whole = row.is_object() && row.contains("step") && row["step"].is_number_unsigned() &&
                     row.value("split", "") != "test";
  return whole ? row["step"].get<std::uint64_t>() : std::numeric_limits<std::uint64_t>::max();
}

std::string row_split(const std::string& line) {
  Row row = Row::parse(line, nullptr, /*allow_exceptions=*/false);
  const Emptied later(row);
  return row.is_object() ? row.value("split", "") : "";
}

}  // namespace xgrad
