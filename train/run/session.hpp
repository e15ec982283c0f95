// Session: trains in a run directory, with logs, checkpoints, console, hooks and checks of claims.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <xgrad/data/task.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/config/config.hpp>
#include <xgrad/train/logs/metrics_row.hpp>
#include <xgrad/train/loop/trainer.hpp>
#include <xgrad/train/metrics/metrics.hpp>
#include <xgrad/train/run/directory.hpp>

namespace xgrad {

/// Makes a hook. `own` holds the values of the hook's keys in [log].
using HookMaker = std::function<std::shared_ptr<TrainerHooks>(const Options& own)>;

/// Adds a hook, with its keys in [log]. A run calls the hook if log.hooks contains its name. Hooks
/// do not change the checkpoints of a run. Throws ConfigError when the name or a key is taken.
void add_hook(const PartEntry& part, HookMaker make);

/// Makes the hooks that log.hooks names. For an unknown hook, throws ConfigError with its name.
std::vector<std::shared_ptr<TrainerHooks>> make_hooks(const Config& config);

/// A claim, checked against the result.
struct Verdict {
  std::string claim;  ///< "accuracy >= 0.99"
  std::string found;  ///< value in the result, "0.9987 ± 0.0003"
  bool holds;         ///< whether the claim is true
};

/// The result of a run.
struct Result {
  std::uint64_t steps = 0;              ///< steps taken
  std::size_t parameters = 0;           ///< number of scalars in all parameters
  Metrics test = {};                    ///< test metrics at step `best`, else at the last step
  std::optional<Ceiling> ceiling = {};  ///< best possible test result, if the task knows it
  std::vector<Rule> rules = {};         ///< the task's rule baselines on the test split
  /// The best possible test result from each token alone, if the task knows it.
  std::optional<Ceiling> token_ceiling = {};
  std::optional<double> baseline = {};        ///< best_baseline(), if [expect] has above_baseline
  std::optional<std::uint64_t> reached = {};  ///< see first_reached()
  std::string hash = {};                      ///< state_hash()
  std::string arithmetic = {};                ///< arithmetic of the run; see cpu.hpp
  std::optional<std::uint64_t> best = {};  ///< the step whose weights gave `test`, if not the last
};

/// Throws ConfigError for a claim about a metric that the task does not have, or about a best
/// possible result that the task does not know.
void check_claims(const ExpectConfig& expect, const Task& task);

/// Returns the step of the first validation in `rows` at which all claims about metrics hold, or
/// nothing. Ignores accuracy_below and bits_below_rule. Uses the best possible result on the
/// validation split; for at_token_ceiling, on the test split. above_baseline uses `baseline`.
std::optional<std::uint64_t> first_reached(const ExpectConfig& expect,
                                           const std::vector<MetricsRow>& rows, const Task& task,
                                           std::optional<double> baseline = {});

/// Returns one verdict for each key of [expect] that is set, except `seconds`.
std::vector<Verdict> judge(const ExpectConfig& expect, const Result& result);

/// Returns the verdict for the claim that training takes at most `most` seconds.
Verdict judge_seconds(double most, double seconds);

/// The outcome of a run.
struct Outcome {
  /// Signal that stopped the run: SIGALRM for train.max_seconds, SIGTERM for a hook; 0: finished.
  int signal = 0;
  double seconds = 0;                  ///< time of training, evaluations and checkpoints
  Result result = {};                  ///< result of a finished run
  std::vector<Verdict> verdicts = {};  ///< one per claim
  std::string directory = {};          ///< directory of the run

  /// Whether all claims are true.
  bool holds() const { return std::ranges::all_of(verdicts, &Verdict::holds); }
};

/// Options of a session.
struct SessionOptions {
  bool quiet = false;         ///< shows only results
  std::uint64_t kill_at = 0;  ///< step after which SIGKILL ends the process; 0: never
  bool keep_config = false;   ///< whether a resumed run writes its changed config to config.toml
  /// Hooks that the program adds. The run logs each event before it calls them. An exception in a
  /// hook ends the run.
  std::vector<std::shared_ptr<TrainerHooks>> hooks = {};
};

/// Throws ConfigError if start_run() could not name the run's directory after the config's file.
void check_run_name(const Config& config, const std::string& config_path);

/// Starts a new run. Finds all errors in the config before it creates the directory.
Outcome start_run(const Config& config, const std::string& file, const SessionOptions& options);

/// Resumes a run in its directory from a checkpoint. Without a checkpoint, starts the run again.
Outcome continue_run(const Config& config, const RunDirectory& run, const Checkpoint* checkpoint,
                     const SessionOptions& options);

/// Continues a run from its newest checkpoint, bit for bit as if it had never stopped. `path` is
/// the run's directory or its newest checkpoint. If `path` is an older checkpoint, starts a new run
/// from this checkpoint in another directory: run.dir of the overrides, else a new directory in
/// runs/. If the run has no checkpoint, starts the run again.
///
/// Throws ConfigError when the overrides change a key that `allow_change` does not name, or set
/// run.dir for a run that continues in its own directory; CheckpointError when the checkpoints are
/// damaged or lost; IoError when there is no run; LockError when another process uses the run.
Outcome resume_run(const std::string& path, const std::vector<std::string>& overrides,
                   const std::vector<std::string>& allow_change, SessionOptions options);

}  // namespace xgrad
