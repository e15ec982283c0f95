// RunGroup: runs that differ only in their seed, and their means.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <xgrad/train/logs/history.hpp>

namespace xgrad {

/// Runs whose configs differ only in train.seed. A mean row holds, for each number that all
/// averaged rows have, the mean and, as "<name>_se", the standard error s / sqrt(n), where
/// s^2 = sum (x - mean)^2 / (n - 1). If only one of several runs is averaged, there is no error. In
/// a group of one run, it is the row of the run itself, with standard errors over examples.
struct RunGroup {
  /// Name of a single run; for several, the keys that differ from other groups.
  std::string name;
  std::vector<RunHistory> runs;  ///< at least one
  /// For each of the three splits the mean of the last rows; an empty row if no run has one.
  std::map<std::string, MetricsRow> last = {};
  /// For each of the three splits the means at the steps that all runs have rows for.
  std::map<std::string, std::vector<MetricsRow>> rows = {};

  /// "finished", "failed" or "unfinished"; for several runs "3 finished, 1 failed".
  std::string state() const;
  /// The runs that the means are over: the finished ones; the unfinished ones if none finished; all
  /// if all failed.
  std::vector<const RunHistory*> averaged() const;
};

/// Returns groups in the order of their first runs. Runs with equal configs and equal seeds go into
/// separate groups, because copies of one run do not show how results vary.
std::vector<RunGroup> group_runs(const std::vector<RunHistory>& runs);

/// Returns a row for each key in which the configs of groups differ: the key, then its value in
/// each group. Leaves out train.seed if a group has several runs.
std::vector<std::vector<std::string>> settings_of(const std::vector<RunGroup>& groups);

}  // namespace xgrad
