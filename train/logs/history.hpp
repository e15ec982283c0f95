// RunHistory: a run, read from its files; RunGroup: runs that differ only in their seed.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <xgrad/storage/disk/folder.hpp>
#include <xgrad/train/config/config.hpp>
#include <xgrad/train/logs/metrics_row.hpp>

namespace xgrad {

/// A run as its files describe it.
struct RunHistory {
  /// A run is finished once it has scored the test split.
  enum class State { finished, failed, unfinished };

  std::string path;         ///< directory of the run
  std::string name;         ///< set by read_runs(): last part of `path`, with parents if not unique
  std::string config_text;  ///< text of its config.toml
  Config config;
  std::vector<MetricsRow> rows;  ///< rows of metrics.jsonl
  State state = State::unfinished;
  std::string failure;            ///< error message of a failed run
  std::uint64_t last_step = 0;    ///< largest step in `rows`
  std::uint64_t scored_step = 0;  ///< step of the test, else of the last validation; 0: none yet
  double seconds = 0, rate = 0;   ///< seconds and tokens_per_second of last_timing(), or 0

  /// The last row of a split, or nullptr. For validation, the last row up to the step of the test.
  const MetricsRow* last(const std::string& split) const;
};

/// "finished", "failed" or "unfinished".
const char* to_string(RunHistory::State state);

/// The last line of log.txt for a run that fails with this error message.
std::string failure_line(const std::string& message);

/// A sentence for the user if train.best_metric is worse in the last validation than at `best_step`
/// by more than the standard error of the last validation; else "".
std::string got_worse(const TrainConfig& train, const std::vector<MetricsRow>& rows,
                      std::uint64_t best_step);

/// The last row of a run's timing.jsonl; a row without numbers if there is none.
MetricsRow last_timing(const Folder& run);

/// Reads the files of a run. Throws IoError if the directory is not a run, ConfigError if its
/// config is invalid.
RunHistory read_run(const std::string& directory);
/// Reads several runs and gives them different names, unless a directory is given twice.
std::vector<RunHistory> read_runs(const std::vector<std::string>& directories);

/// Runs with configs that differ only in train.seed. A mean row holds the mean of each number that
/// all n averaged rows have. For n > 1, it also has the standard error of each mean as "<name>_se",
/// s / sqrt(n), where s^2 = sum (x - mean)^2 / (n - 1). In a group of one run, the mean row is the
/// row of that run.
struct RunGroup {
  std::string name;  ///< of one run: its name; of several: keys and values in which groups differ
  std::vector<RunHistory> runs;  ///< at least one
  /// Mean rows for each split. last: the mean of the last rows of the averaged() runs; an empty row
  /// if there are none. rows: the means at each step at which all these runs have rows.
  std::map<std::string, MetricsRow> last = {};
  std::map<std::string, std::vector<MetricsRow>> rows = {};

  /// "finished", "failed" or "unfinished"; for several runs "3 finished, 1 failed".
  std::string state() const;
  /// The runs that are averaged: the finished runs; if no run is finished, the unfinished runs; if
  /// all runs failed, all runs.
  std::vector<const RunHistory*> averaged() const;
};

/// Returns groups in the order of their first runs. Copies of a run go into separate groups,
/// because they do not show how results vary.
std::vector<RunGroup> group_runs(const std::vector<RunHistory>& runs);

/// Returns a row for each key in which the groups differ: the key, then its value in each group.
/// Leaves out train.seed if a group has several runs.
std::vector<std::vector<std::string>> settings_of(std::span<const RunGroup> groups);

}  // namespace xgrad
