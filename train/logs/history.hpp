// RunHistory: config, metrics and end of a run, read from its files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <xgrad/storage/disk/folder.hpp>
#include <xgrad/train/config/config.hpp>
#include <xgrad/train/logs/metrics_row.hpp>

namespace xgrad {

/// A run as its files describe it.
struct RunHistory {
  /// Finished: it has scored the test split.
  enum class State { finished, failed, unfinished };

  std::string path;
  /// Name of its directory, after as many parents as tell it from the others that read_runs() read.
  std::string name;
  std::string config_text;
  Config config;
  std::vector<MetricsRow> rows;  ///< rows of metrics.jsonl
  State state = State::unfinished;
  std::string failure;  ///< error message of a failed run
  std::uint64_t last_step = 0;
  double seconds = 0, rate = 0;  ///< from the last row of timing.jsonl; 0 if there is none

  /// The last row of a split, or nullptr if there is none.
  const MetricsRow* last(const std::string& split) const;
};

/// The last line in the log.txt of a failed run.
std::string failure_line(const std::string& message);

/// The last row of a run's timing.jsonl; a row without numbers if there is none.
MetricsRow last_timing(const Folder& run);

/// Reads the files of a run. Throws IoError if the directory is not a run; ConfigError if its
/// config is invalid.
RunHistory read_run(const std::string& directory);
/// Reads several, with names that differ unless a directory comes twice.
std::vector<RunHistory> read_runs(const std::vector<std::string>& directories);

}  // namespace xgrad
