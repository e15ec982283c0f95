#include <xgrad/train/run/csv_log.hpp>

#include <fmt/format.h>

#include <cmath>

#include <xgrad/storage/disk/publish.hpp>

namespace xgrad {

namespace {

constexpr const char* kFile = "metrics.csv";

}  // namespace

CsvLog::CsvLog(const Config& config, const RunDirectory& run, const MetricsRow& training)
    : run_(run), enabled_(config.log_csv) {
  for (const auto& [name, value] : training.numbers) names_.push_back(name);
  renew();
}

std::string CsvLog::line(const MetricsRow& row) const {
  std::string text = fmt::format("{},{}", row.step, row.split);
  for (const std::string& name : names_) {
    const auto value = row.number(name);
    text += value && std::isfinite(*value) ? fmt::format(",{}", *value) : ",";
  }
  return text;
}

void CsvLog::row(const MetricsRow& row) {
  if (enabled_) run_.append(kFile, line(row));
}

void CsvLog::renew() {
  if (!enabled_) return;
  std::string text = fmt::format("step,split,{}\n", fmt::join(names_, ","));
  for (const MetricsRow& row : read_metrics(run_.folder(), "metrics.jsonl")) {
    text += line(row) + "\n";
  }
  publish_over(run_.folder(), kFile, text);
}

}  // namespace xgrad
