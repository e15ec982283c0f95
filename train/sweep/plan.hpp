// The runs of a sweep: combinations of values, their directories and lengths.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <xgrad/storage/disk/descriptor.hpp>
#include <xgrad/train/config/config.hpp>
#include <xgrad/train/logs/history.hpp>
#include <xgrad/train/sweep/sweep.hpp>

namespace xgrad {

/// Config keys with one value each, as TOML literals.
using Setting = std::vector<std::pair<std::string, std::string>>;

/// A run of a sweep: its directory, and the keys that distinguish it from the other runs.
struct SweptRun {
  std::string directory;
  Setting setting;
};

/// A combination of values, without the seed. Each round (rungs()) trains it once per seed.
struct Trial {
  Setting setting;                                         ///< all keys but the seed
  Config config = {};                                      ///< config with `setting` and all steps
  std::vector<RunHistory> runs = {};                       ///< runs of this round that have begun
  double score = std::numeric_limits<double>::infinity();  ///< mean validation loss over seeds
};

/// The plan of a sweep.
struct SweepPlan {
  std::string out = {};  ///< directory of the sweep
  /// Every combination of values, or SweepOptions::random of them, drawn with the config's
  /// train.seed. The last key varies fastest.
  std::vector<Trial> trials = {};
  std::vector<std::string> seeds = {""};  ///< seeds of each trial; "": the config's seed
};

/// Throws ConfigError if a config is wrong, or if two runs would share a directory.
SweepPlan plan_sweep(const SweepOptions& options);

/// The runs of a trial, one per seed. train.steps and the schedule have `part` (a fraction, at most
/// 1) of their length in the config.
std::vector<SweptRun> runs_of(const SweepPlan& plan, const Trial& trial, double part);

/// The overrides of a run: the overrides of all runs, then the run's setting.
std::vector<std::string> overrides_of(const SweepOptions& options, const Setting& setting);

/// The fraction `part` of a number of steps, rounded; at least 1.
std::uint64_t part_of(std::uint64_t steps, double part);

/// The lengths of the rounds of successive halving (Jamieson & Talwalkar 2016), as fractions of a
/// run's steps. Each round keeps the better half of the settings and doubles the steps, so three or
/// four settings give {1/4, 1/2, 1}.
std::vector<double> rungs(std::size_t settings);

/// Throws IoError if two processes, on one machine or on two, could lock the same file in this
/// folder at once. Some network file systems lock only within a machine, or never.
void check_claims_work(const std::string& folder);

/// The mount option that limits locks on the device MAJOR:MINOR to one machine, such as "nolock";
/// empty if there is none. `mounts` is the text of /proc/self/mountinfo, see proc(5).
std::string local_locks_option(std::string_view mounts, std::string_view device);

/// Opens the log of a run and locks it. Returns nothing if another process has locked the log. The
/// process that trains the run inherits the descriptor. The lock lasts until both processes have
/// closed the descriptor, so it lasts as long as the run.
std::optional<detail::Descriptor> claim(const std::string& log);

/// The history of a run; nothing if it has not begun.
std::optional<RunHistory> history_of(const std::string& directory);

}  // namespace xgrad
