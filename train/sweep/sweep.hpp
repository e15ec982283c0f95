// run_sweep(): trains a config with many combinations of values, each in a process of its own.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace xgrad {

/// The config of a sweep, the values to combine, and how to train them.
struct SweepOptions {
  std::string config;                       ///< path of the config
  std::vector<std::string> overrides = {};  ///< for all runs, as "optim.lr=3e-4"
  std::vector<std::string> over = {};       ///< keys with their values, as "optim.lr=[1e-3, 3e-4]"
  std::string out = {};      ///< directory of the runs; empty: runs/sweep-NAME for NAME.toml
  std::size_t random = 0;    ///< number of combinations to draw at random; 0: all
  std::size_t jobs = 0;      ///< number of parallel runs, which share the cores; 0: one per core
  bool halving = false;      ///< successive halving: longer runs for the better half only
  bool worker = false;       ///< shares the runs of `out` with other workers on any machine
  bool quiet = false;        ///< writes nothing to standard error
  std::string program = {};  ///< path of `xgrad`, which trains the runs; empty: this program
  std::function<bool()> stop = {};  ///< called often; true stops the sweep as SIGTERM does
};

/// The end of a sweep.
struct SweepEnd {
  /// 0: every run succeeded. 128 + n: signal n stopped the sweep. If no run could begin, the exit
  /// code of the first run. Otherwise 1.
  int exit_code = 0;
  std::string message = {};  ///< the first run's error message if no run could begin
};

/// Trains a config with every combination of values; does not repeat finished runs. On SIGINT or
/// SIGTERM, the runs save and stop, and the next call continues them. Calls `show` with a table of
/// results after each round of runs. Writes report.html, results.csv and results.json into the
/// directory. Throws ConfigError before any run starts; IoError; LockError if another sweep trains
/// a run and options.worker is false.
SweepEnd run_sweep(const SweepOptions& options,
                   const std::function<void(const std::string& table)>& show);

}  // namespace xgrad
