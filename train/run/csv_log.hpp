// CsvLog: metrics.csv, the rows of metrics.jsonl as a table.
#pragma once

#include <string>
#include <vector>

#include <xgrad/train/config/config.hpp>
#include <xgrad/train/metrics/rows.hpp>
#include <xgrad/train/run/directory.hpp>

namespace xgrad {

/// Does nothing unless [log] csv is set.
class CsvLog {
 public:
  /// Writes metrics.csv anew from metrics.jsonl. Its columns are step, split and the numbers of
  /// `training`, a row of training of this run: other rows have some of them. Throws IoError.
  CsvLog(const Config& config, const RunDirectory& run, const MetricsRow& training);

  /// Appends a row. Numbers read back exactly; what a row lacks, and NaN and infinity, become empty
  /// cells. Throws IoError.
  void row(const MetricsRow& row);
  /// Writes the file anew after metrics.jsonl was cut back. Throws IoError.
  void renew();

 private:
  std::string line(const MetricsRow& row) const;

  const RunDirectory& run_;
  bool enabled_;
  std::vector<std::string> names_;  // of the numbers, in the order of columns
};

}  // namespace xgrad
