// The rows of metrics.jsonl and timing.jsonl.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <xgrad/train/metrics/class_report.hpp>
#include <xgrad/train/metrics/metrics.hpp>

namespace xgrad {

/// {"step": 100, "split": "train", "loss": ..., "loss_se": ..., ...}. Holds no times, so that two
/// equal runs give equal files; numbers are written so that they read back exactly. What is
/// given of a step stands in training rows.
std::string metrics_row(std::uint64_t step, const std::string& split, const Metrics& metrics,
                        std::optional<double> lr = {}, std::optional<double> grad_norm = {},
                        std::optional<double> head_diversity = {});

/// A row of metrics with what is known of each class: "macro_f1" with its error, "classes", an
/// object a class, and "confusion", a row a class of targets, a column a class of guesses; answers
/// have none.
std::string report_row(std::uint64_t step, const std::string& split, const Metrics& metrics,
                       const ClassReport& report, const std::vector<std::string>& names);

/// {"step": 100, "seconds": ..., "tokens_per_second": ...}
std::string timing_row(std::uint64_t step, double seconds, double tokens_per_second);

/// A row as it was read.
struct MetricsRow {
  std::uint64_t step = 0;                               ///< of the run
  std::string split;                                    ///< empty where the row has none
  std::vector<std::pair<std::string, double>> numbers;  ///< the others, in their order

  /// Nothing where there is none of that name.
  std::optional<double> number(const std::string& name) const;
};

/// The rows of metrics.jsonl or timing.jsonl; lines that are none are left out, and so are numbers
/// that are not finite.
std::vector<MetricsRow> read_metrics(const std::string& text);

/// The step of a row; the largest number for a line that is none, and for the row of the test
/// split, which a finished run writes anew whenever it is resumed.
std::uint64_t row_step(const std::string& line);
/// The split of a row; empty where it names none.
std::string row_split(const std::string& line);

}  // namespace xgrad
