// The runs of a round of a sweep that are still to do, and the processes that do them.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <xgrad/storage/disk/descriptor.hpp>
#include <xgrad/train/logs/history.hpp>
#include <xgrad/train/sweep/plan.hpp>

namespace xgrad {

/// The history of a run; nothing if it has not begun.
std::optional<RunHistory> history_of(const std::string& directory);

/// Does runs, each in a process of its own: the lock on its log decides who does it (claims.hpp).
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
  bool start_next(std::size_t threads);
  bool reap();

  const SweepOptions& options_;
  std::vector<SweptRun> left_;
  std::map<pid_t, std::string> running_;  // directories of runs
  std::vector<std::pair<std::string, int>> ended_;
};

}  // namespace xgrad
