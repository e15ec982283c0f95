// Session: a trainer at work in a run directory, with its logs, checkpoints, console and verdicts.
#pragma once

#include <string>
#include <vector>

#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/config/config.hpp>
#include <xgrad/train/metrics/expect.hpp>
#include <xgrad/train/run/directory.hpp>

namespace xgrad {

/// How a run ended.
struct Outcome {
  int signal = 0;      ///< that stopped it, SIGALRM for train.max_seconds; 0: it is finished
  double seconds = 0;  ///< of training, with its evaluations and checkpoints
  Result result = {};  ///< of a finished run
  std::vector<Verdict> verdicts = {};  ///< one a claim
  std::string report_failure = {};     ///< why there is no report.html; empty: there is one

  /// Whether all claims are true.
  bool holds() const;
};

/// How a run is watched and ended.
struct SessionOptions {
  bool quiet = false;         ///< whether only results are shown
  std::uint64_t kill_at = 0;  ///< after this step the process dies as by kill -9; 0: it goes on
  bool keep_config = false;  ///< a run that goes on keeps its config, which was changed, as its own
};

/// A new run: everything that can be wrong with the config is found before the directory is made.
Outcome start_run(const Config& config, const std::string& config_path,
                  const SessionOptions& options);

/// Goes on from the checkpoint, in the run's own directory; without one, from the beginning.
Outcome continue_run(const Config& config, const RunDirectory& run, const Checkpoint* checkpoint,
                     const SessionOptions& options);

/// Goes on from a checkpoint that is not the newest of the run in `directory`: in a new directory
/// beside it, so that nothing is overwritten.
Outcome branch_run(const Config& config, const std::string& directory, const Checkpoint& checkpoint,
                   const SessionOptions& options);

}  // namespace xgrad
