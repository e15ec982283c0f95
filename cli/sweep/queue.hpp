// The runs of a round of a sweep that are still to do.
#pragma once

#include <string>
#include <vector>

#include <xgrad/cli/sweep/children.hpp>

namespace xgrad::commands {

/// A run of a sweep: its directory, and what it overrides in the config.
struct Job {
  std::string directory;
  std::vector<std::string> overrides;
};

/// Hands out runs, each to one process: the lock on its log decides (claims.hpp).
class Queue {
 public:
  /// The jobs of a config. If the queue is `shared`, other workers do runs as well, and this one
  /// waits for those that they do; else such a run is an error. Throws ConfigError if a directory
  /// holds a run of another config.
  Queue(std::string config, std::vector<Job> jobs, bool shared);

  /// The next run that nobody does, started with so many threads, or resumed. Finished runs need
  /// nothing; runs that failed here or, if the queue is shared, elsewhere are not repeated. Throws
  /// LockError if another process does a run and the queue is not shared.
  NextChild next(std::size_t threads);
  /// Runs that are not done and that this process did not start.
  std::size_t left() const { return left_.size(); }

 private:
  bool is_done(const Job& job) const;
  std::vector<std::string> words(const Job& job, std::size_t threads) const;

  std::string config_;
  std::vector<Job> left_;
  bool shared_;
};

/// Whether a directory holds an entry of this name.
bool holds(const std::string& directory, const std::string& name);

}  // namespace xgrad::commands
