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
  /// Finished: it has scored the test split.
  enum class State { finished, failed, unfinished };

  std::string path;  ///< directory of the run
  std::string name;  ///< from read_runs(): last part of the path, with parents if others share it
  std::string config_text;  ///< text of its config.toml
  Config config;
  std::vector<MetricsRow> rows;  ///< rows of metrics.jsonl
  State state = State::unfinished;
  std::string failure;            ///< error message of a failed run
  std::uint64_t last_step = 0;    ///< largest step in `rows`
  std::uint64_t scored_step = 0;  ///< step of the test, else of the last validation; 0: none yet
  double seconds = 0, rate = 0;   ///< from the last row of timing.jsonl; 0 if there is none

  /// The last row of a split, or nullptr. For validation: the row of the step with the test score.
  const MetricsRow* last(const std::string& split) const;
};

/// "finished", "failed" or "unfinished".
const char* to_string(RunHistory::State state);

/// The last line in the log.txt of a failed run.
std::string failure_line(const std::string& message);

/// A sentence if the last validation is worse than the best validation by more than the standard
/// error of the last validation; else "".
std::string got_worse(const TrainConfig& train, const std::vector<MetricsRow>& rows,
                      std::uint64_t best_step);

/// The last row of a run's timing.jsonl; a row without numbers if there is none.
MetricsRow last_timing(const Folder& run);

/// Reads the files of a run. Throws IoError if the directory is not a run, ConfigError if its
/// config is invalid.
RunHistory read_run(const std::string& directory);
/// Reads several runs. Their names differ, unless a directory is given twice.
std::vector<RunHistory> read_runs(const std::vector<std::string>& directories);

/// Runs whose configs differ only in train.seed. A mean row holds the mean of each number that all
/// averaged rows have. If there are several rows, it also holds the standard error as "<name>_se",
/// s / sqrt(n), where s^2 = sum (x - mean)^2 / (n - 1). In a group of one run, the mean row is the
/// row of that run.
struct RunGroup {
  std::string name;              ///< name of the run; for several, the keys in which groups differ
  std::vector<RunHistory> runs;  ///< at least one
  /// Means for each split. last: the mean of the runs' last rows, an empty row if no run has one.
  /// rows: the means at each step for which all runs have rows.
  std::map<std::string, MetricsRow> last = {};
  std::map<std::string, std::vector<MetricsRow>> rows = {};

  /// "finished", "failed" or "unfinished"; for several runs "3 finished, 1 failed".
  std::string state() const;
  /// The runs that the means average: the finished runs; the unfinished ones if none finished; all
  /// if all failed.
  std::vector<const RunHistory*> averaged() const;
};

/// Returns groups in the order of their first runs. Copies of a run go into separate groups,
/// because they do not show how results vary.
std::vector<RunGroup> group_runs(const std::vector<RunHistory>& runs);

/// Returns a row for each key in which the groups differ: the key, then its value in each group.
/// Leaves out train.seed if a group has several runs.
std::vector<std::vector<std::string>> settings_of(std::span<const RunGroup> groups);

}  // namespace xgrad
