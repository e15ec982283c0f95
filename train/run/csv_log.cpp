#include <xgrad/train/run/csv_log.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include <xgrad/storage/disk/publish.hpp>

namespace xgrad {

namespace {

constexpr const char* kFile = "metrics.csv";

}  // namespace

CsvLog::CsvLog(const Config& config, const RunDirectory& run)
    : run_(run), enabled_(config.log_csv), penalised_(config.train.head_diversity > 0) {
  renew();
}

// Rows of training have the last three names as well; the header has them at its end in any case.
std::string CsvLog::line(const MetricsRow& row) {
  std::string text;
  if (names_.empty()) {
    std::vector<std::string> last = {"lr", "grad_norm"};
    if (penalised_) last.push_back("head_diversity");
    for (const auto& [name, value] : row.numbers) {
      if (std::find(last.begin(), last.end(), name) == last.end()) names_.push_back(name);
    }
    names_.insert(names_.end(), last.begin(), last.end());
    text = fmt::format("step,split,{}\n", fmt::join(names_, ","));
  }
  text += fmt::format("{},{}", row.step, row.split);
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
  names_.clear();
  std::string text;
  for (const MetricsRow& row : read_metrics(run_.folder(), "metrics.jsonl")) {
    text += line(row) + "\n";
  }
  publish_over(run_.folder(), kFile, text);
}

}  // namespace xgrad
