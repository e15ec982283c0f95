#include <xgrad/train/metrics_log.hpp>

#include <limits>
#include <nlohmann/json.hpp>

namespace xgrad {

using Row = nlohmann::ordered_json;

std::string metrics_row(std::uint64_t step, const std::string& split, const Metrics& metrics,
                        std::optional<double> lr, std::optional<double> grad_norm) {
  Row row = {{"step", step}, {"split", split}};
  for (const Figure& figure : metrics.figures()) {
    row[figure.name] = figure.value;
    row[figure.name + "_se"] = figure.standard_error;
  }
  if (lr) row["lr"] = *lr;
  if (grad_norm) row["grad_norm"] = *grad_norm;
  return row.dump();
}

std::string timing_row(std::uint64_t step, double seconds, double tokens_per_second) {
  return Row{{"step", step}, {"seconds", seconds}, {"tokens_per_second", tokens_per_second}}.dump();
}

std::uint64_t row_step(const std::string& line) {
  const Row row = Row::parse(line, nullptr, /*allow_exceptions=*/false);
  const bool whole = row.is_object() && row.contains("step") && row["step"].is_number_unsigned() &&
                     row.value("split", "") != "test";
  return whole ? row["step"].get<std::uint64_t>() : std::numeric_limits<std::uint64_t>::max();
}

}  // namespace xgrad
