// Session: trains in a run directory, with logs, checkpoints, console and checks of claims.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/config/config.hpp>
#include <xgrad/train/loop/trainer.hpp>
#include <xgrad/train/run/directory.hpp>
#include <xgrad/train/run/expect.hpp>

namespace xgrad {

/// The outcome of a run.
struct Outcome {
  /// Signal that stopped it: SIGALRM for train.max_seconds, SIGTERM for a hook; 0: it finished.
  int signal = 0;
  double seconds = 0;                  ///< time of training, evaluations and checkpoints
  Result result = {};                  ///< result of a finished run
  std::vector<Verdict> verdicts = {};  ///< one per claim
  std::string directory = {};          ///< directory of the run

  /// Whether all claims are true.
  bool holds() const;
};

/// Options of a session.
struct SessionOptions {
  bool quiet = false;         ///< shows only results
  std::uint64_t kill_at = 0;  ///< after this step the process dies as by kill -9; 0: never
  bool keep_config = false;   ///< a resumed run stores its changed config as its own
  /// Hooks of the program: called for every step, evaluation, checkpoint and failed step, after the
  /// run has logged it. Asked after each step whether to save and stop. Their exceptions end the
  /// run.
  std::vector<std::shared_ptr<TrainerHooks>> hooks = {};
};

/// Throws ConfigError if start_run() would name the directory of the run after the config's file,
/// and cannot.
void check_run_name(const Config& config, const std::string& config_path);

/// Starts a new run. Finds all errors in the config before it creates the directory.
Outcome start_run(const Config& config, const std::string& config_path,
                  const SessionOptions& options);

/// Resumes a run in its own directory from a checkpoint; without one, starts it again.
Outcome continue_run(const Config& config, const RunDirectory& run, const Checkpoint* checkpoint,
                     const SessionOptions& options);

/// Resumes from a checkpoint that is not the newest of the run in `directory`. Nothing is
/// overwritten: the new run gets the directory config.run_dir, or if that is empty, one named after
/// the old run.
Outcome branch_run(const Config& config, const std::string& directory, const Checkpoint& checkpoint,
                   const SessionOptions& options);

/// Continues a run from its newest checkpoint, bit for bit as if it had never stopped. `path` is
/// its directory or that checkpoint. From an older checkpoint, starts a new run in another
/// directory: run.dir of the overrides, if given. Without any checkpoint, starts the run again.
///
/// Throws ConfigError when the overrides change a key that `allow_change` does not name, or when
/// the run's own directory would change; CheckpointError when the checkpoints are damaged or lost;
/// IoError when there is no run; LockError when another process is writing to it.
Outcome resume_run(const std::string& path, const std::vector<std::string>& overrides,
                   const std::vector<std::string>& allow_change, SessionOptions options);

}  // namespace xgrad
