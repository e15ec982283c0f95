#include <xgrad/train/sweep/sweep.hpp>

#include <fmt/format.h>

#include <cstdio>

#include <xgrad/cli/command.hpp>
#include <xgrad/cli/outcome.hpp>

namespace xgrad::commands {

namespace {

int sweep(const SweepOptions& options) {
  const SweepEnd end = run_sweep(options, [](const std::string& table) {
    fmt::print("{}", table);
    std::fflush(stdout);
  });
  print_error(end.message);
  return end.exit_code;
}

}  // namespace

Command sweep_command() {
  const auto a = std::make_shared<SweepOptions>();
  return Command(
      "sweep", "Train a config with many combinations of values",
      {{"config", kConfig, &a->config, kRequired},
       {"overrides", kOverrides, &a->overrides},
       {"--over", "KEY=[VALUES], as in optim.lr=[1e-3, 3e-4]; may be repeated", &a->over,
        kRequired},
       {"--random", "train this many combinations, drawn at random", &a->random, kPositive},
       {"--halving", "short runs of all first, then longer ones of the better half, and so on",
        &a->halving},
       {"--jobs", "number of parallel runs, which share the cores; default: one per core", &a->jobs,
        kPositive},
       {"--out", "directory of the runs; default: runs/sweep-NAME for NAME.toml", &a->out,
        kNewPath},
       {"--worker", "share the runs with other workers in the same --out, on any machines",
        &a->worker}},
      [a] { return sweep(*a); });
}

}  // namespace xgrad::commands
