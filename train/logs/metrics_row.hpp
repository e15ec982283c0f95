// Rows of metrics.jsonl and timing.jsonl.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <xgrad/train/metrics/metrics.hpp>

namespace xgrad {

class Folder;

/// A row of metrics.jsonl or timing.jsonl.
struct MetricsRow {
  std::uint64_t step = 0;  ///< steps taken by the run
  std::string split;       ///< train, validation or test; empty in timing.jsonl
  std::vector<std::pair<std::string, double>> numbers;  ///< all other numbers, in order

  /// The number of this name, if the row has it.
  std::optional<double> number(const std::string& name) const;
};

/// Makes a row with the metrics of a split, each as NAME and its standard error as NAME_se.
MetricsRow metrics_row(std::uint64_t step, const std::string& split, const Metrics& metrics);

/// Returns {"step": 100, "split": "train", "loss": ..., "loss_se": ..., ...}. Finite numbers read
/// back exactly; NaN and infinity become null.
std::string to_json(const MetricsRow& row);

/// Returns, as JSON, a row of metrics with a report on the classes, which are called `names`:
/// "macro_f1" with its standard error; "classes", an object per class; and, unless targets are yes
/// or no, "confusion", a row per target class with a column per predicted class.
std::string report_row(std::uint64_t step, const std::string& split, const Metrics& metrics,
                       const ClassReport& report, const std::vector<std::string>& names);

/// Parses a row. Leaves out numbers that are null. Returns nothing if the line is not a row.
std::optional<MetricsRow> read_row(const std::string& line);
/// Reads all rows of a file; none if there is no file. Throws IoError, as Lines does.
std::vector<MetricsRow> read_metrics(const Folder& run, const std::string& name);

/// The lines of a log up to a step.
struct RowsUntil {
  std::uint64_t end = 0;                ///< number of bytes before the first row of a later step
  bool has_end = true;                  ///< whether a newline ends these bytes
  std::vector<std::uint64_t> bad = {};  ///< numbers of the bad lines in these bytes, from 1
};

/// Finds the rows of a run up to `step` in a log, which must exist. If the step is not `validated`,
/// leaves out the row of the step's validation. A row with a step out of order counts as bad. Two
/// lines count as later than `step`: the row of the test split, which every resumed run writes
/// again, and an incomplete last line. Throws IoError, as Lines does.
RowsUntil rows_until(const Folder& run, const std::string& name, std::uint64_t step,
                     bool validated = true);

}  // namespace xgrad
