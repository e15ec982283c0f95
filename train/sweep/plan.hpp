// The runs of a sweep: combinations of values, their directories and lengths, who does which, and
// the processes that do them.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
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

/// A run of a sweep.
struct SweptRun {
  std::string directory;  ///< its directory
  Setting setting;        ///< the keys that tell it from the others
};

/// A setting without the seed. Each round trains it once per seed.
struct Trial {
  Setting setting;                                         ///< all keys but the seed
  Config config = {};                                      ///< with the setting, at full length
  std::vector<std::optional<RunHistory>> runs = {};        ///< in this round; those that began
  double score = std::numeric_limits<double>::infinity();  ///< mean validation loss
};

/// The plan of a sweep.
struct SweepPlan {
  std::string out = {};  ///< directory of the sweep
  /// Every combination of values, or some that are drawn at random. The same train.seed draws the
  /// same ones. The last key varies fastest.
  std::vector<Trial> trials = {};
  std::vector<std::string> seeds = {""};  ///< of each trial; "": that of the config
};

/// Throws ConfigError if a config is wrong, or if two runs would share a directory.
SweepPlan plan_sweep(const SweepOptions& options);

/// The runs of a trial, one per seed, with steps and schedule that fit into `part` of the config's
/// steps.
std::vector<SweptRun> runs_of(const SweepPlan& plan, const Trial& trial, double part);

/// The overrides of a run: those of all runs, then its setting.
std::vector<std::string> overrides_of(const SweepOptions& options, const Setting& setting);

/// `part` of a number of steps, at least 1.
std::uint64_t part_of(std::uint64_t steps, double part);

/// The lengths of the rounds of successive halving, as fractions of a run's steps. Each round but
/// the last keeps the better half of the settings: {1} for one setting, {1/4, 1/2, 1} for three or
/// four. Jamieson & Talwalkar 2016.
std::vector<double> rungs(std::size_t settings);

/// Throws IoError unless two locks of a file in this folder exclude each other, here and on other
/// machines: some network file systems have no locks, or only those of each machine.
void check_claims_work(const std::string& folder);

/// The mount option that makes locks on the device MAJOR:MINOR those of one machine alone, such as
/// "nolock"; empty if there is none. `mounts` is the text of /proc/self/mountinfo, see proc(5).
std::string local_locks_option(std::string_view mounts, std::string_view device);

/// The history of a run; nothing if it has not begun.
std::optional<RunHistory> history_of(const std::string& directory);

/// Does runs, each in a process of its own: the lock on its log decides which worker does it.
class SweepQueue {
 public:
  /// Finished runs need nothing. A worker does not repeat runs that failed elsewhere, either.
  /// Throws ConfigError if a directory holds a run of another config.
  SweepQueue(const SweepOptions& options, std::vector<SweptRun> runs);
  /// Ends processes that an exception leaves running.
  ~SweepQueue();
  SweepQueue(const SweepQueue&) = delete;

  /// Starts or resumes the runs, at most `jobs` at a time with so many threads each, until all are
  /// done. A worker waits for those that others do. Calls `watch` again and again. On a signal,
  /// passes it on to the processes, and starts no more. Returns the signal, or 0. Throws LockError
  /// if another process does a run and this is no worker; IoError.
  int run(std::size_t jobs, std::size_t threads, const std::function<void()>& watch);

  /// The number of runs that are not done and that this process did not start.
  std::size_t left() const { return left_.size(); }
  /// The number of runs whose processes run.
  std::size_t running() const { return running_.size(); }

  /// The directories of runs whose processes have ended, with exit codes; 128 + n after signal n.
  const std::vector<std::pair<std::string, int>>& ended() const { return ended_; }

 private:
  bool is_done(const SweptRun& run) const;
  // Starts the next run that nobody does. Returns false if there is none now.
  bool start_next(std::size_t threads);
  // Takes note of a process that has ended. Returns false if there is none.
  bool reap();

  const SweepOptions& options_;
  std::vector<SweptRun> left_;
  std::map<pid_t, std::string> running_;  // directories of runs
  std::vector<std::pair<std::string, int>> ended_;
};

}  // namespace xgrad
