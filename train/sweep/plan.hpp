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

/// A combination of values, without the seed. Each round (see rungs()) trains it once per seed.
struct Trial {
  Setting setting;                                         ///< all keys but the seed
  Config config = {};                                      ///< with the setting, at full length
  std::vector<RunHistory> runs = {};                       ///< runs of this round that have begun
  double score = std::numeric_limits<double>::infinity();  ///< mean validation loss
};

/// The plan of a sweep.
struct SweepPlan {
  std::string out = {};  ///< directory of the sweep
  /// Every combination of values, or some combinations drawn at random. The same train.seed draws
  /// the same combinations. The last key varies fastest.
  std::vector<Trial> trials = {};
  std::vector<std::string> seeds = {""};  ///< seeds of each trial; "": the config's seed
};

/// Throws ConfigError if a config is wrong, or if two runs would share a directory.
SweepPlan plan_sweep(const SweepOptions& options);

/// The runs of a trial, one per seed, with steps and schedule that fit into `part` of the config's
/// steps.
std::vector<SweptRun> runs_of(const SweepPlan& plan, const Trial& trial, double part);

/// The overrides of a run: the overrides of all runs, then its setting.
std::vector<std::string> overrides_of(const SweepOptions& options, const Setting& setting);

/// `part` of a number of steps, at least 1.
std::uint64_t part_of(std::uint64_t steps, double part);

/// The lengths of the rounds of successive halving, as fractions of a run's steps. Each round keeps
/// the better half of the settings, so three or four settings give {1/4, 1/2, 1}. Jamieson &
/// Talwalkar 2016.
std::vector<double> rungs(std::size_t settings);

/// Throws IoError unless two locks of a file in this folder exclude each other, here and on other
/// machines. Some network file systems have no locks, or only locks within a machine.
void check_claims_work(const std::string& folder);

/// The mount option that limits locks on the device MAJOR:MINOR to one machine, such as "nolock";
/// empty if there is none. `mounts` is the text of /proc/self/mountinfo, see proc(5).
std::string local_locks_option(std::string_view mounts, std::string_view device);

/// Opens the log of a run and locks it; nothing if another process has locked it. The lock is
/// released when this descriptor and the copies that a child inherits are closed, so it lasts as
/// long as the run.
std::optional<detail::Descriptor> claim(const std::string& log);

/// The history of a run; nothing if it has not begun.
std::optional<RunHistory> history_of(const std::string& directory);

}  // namespace xgrad
