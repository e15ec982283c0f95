// The commands train, resume, lr-find and sweep.
#include <fmt/format.h>

#include <cstdio>

#include <xgrad/autograd/check.hpp>
#include <xgrad/cli/command.hpp>
#include <xgrad/data/text/amounts.hpp>
#include <xgrad/storage/disk/publish.hpp>
#include <xgrad/storage/disk/temporary.hpp>
#include <xgrad/train/config/config.hpp>
#include <xgrad/train/inspect/trial_runs.hpp>
#include <xgrad/train/run/session.hpp>
#include <xgrad/train/sweep/sweep.hpp>

namespace xgrad::commands {

namespace {

struct TrainArguments : ConfigArguments {
  bool quiet = false, json = false, overfit_batch = false, dry_run = false;
};

int train(const TrainArguments& a) {
  return report(start_run(a.load(), a.config, {a.quiet}), a.json);
}

int overfit(const TrainArguments& a) {
  const Overfit result = overfit_batch(a.load(), [&](const StepReport& report) {
    if (a.quiet || report.step % 100 != 0) return;
    fmt::print(stderr, "step {:>5}  loss {:.6f}\n", report.step, report.loss);
  });
  fmt::print("{}: one batch of {} examples, loss {:.2e} after {} steps\n",
             result.memorised ? "memorised" : "NOT memorised", result.examples, result.last.loss,
             result.last.step);
  return result.memorised ? 0 : 1;
}

// Trains two steps, evaluates, writes a checkpoint and reads it back. Leaves no files behind.
int dry_run(const TrainArguments& a) {
  const Config config = a.load();
  return with_precision(config, [&]<class T>() {
    Trainer<T> trainer(config);
    fmt::print("{} parameters, {} steps\n", grouped(trainer.parameters().count()),
               grouped(trainer.total_steps()));
    for (int i = 0; i < 2; ++i) {
      const StepReport report = trainer.train_step();
      fmt::print("step {}  loss {:.4f}\n", report.step, report.loss);
    }
    fmt::print("validation  {}\n", summary(trainer.evaluate(Split::validation)));
    const TemporaryFolder directory;
    publish(directory.path(), checkpoint_name(2), to_hdf5(trainer.capture()));
    trainer.restore(load_checkpoint(directory / checkpoint_name(2)));
    fmt::print("a checkpoint was saved and read back; no files are left\n");
    return 0;
  });
}

}  // namespace

Command train_command() {
  const auto a = std::make_shared<TrainArguments>();
  return Command(
      "train", "Train the model of a config in a new run directory",
      {{"config", kConfig, &a->config, kRequired},
       {"overrides", kOverrides, &a->overrides},
       {"-q,--quiet", kQuiet, &a->quiet},
       {"--json", kJson, &a->json},
       {"--overfit-batch", "only memorise one batch as a check; leaves no files",
        &a->overfit_batch},
       {"--dry-run", "only two steps, an evaluation, a save; leaves no files", &a->dry_run,
        Rules{.excludes = {"--overfit-batch"}}}},
      [a] {
        return (a->overfit_batch ? overfit : a->dry_run ? dry_run : train)(*a);
      },
      /*on_all_ranks=*/true);
}

Command resume_command() {
  struct Arguments {
    std::string run;  // a run directory or one of its checkpoints
    std::vector<std::string> overrides, allow_change;
    bool quiet = false, json = false;
  };
  const auto a = std::make_shared<Arguments>();
  return Command(
      "resume", "Continue a run, bit for bit as if it had never stopped",
      {{"run", kRun, &a->run, kRequired},
       {"overrides", kOverrides, &a->overrides},
       {"--allow-change", "a key that may change; may be repeated", &a->allow_change,
        Rules{.value = "KEY"}},
       {"-q,--quiet", kQuiet, &a->quiet},
       {"--json", kJson, &a->json}},
      [a] {
        return report(resume_run(a->run, a->overrides, a->allow_change, {a->quiet}), a->json);
      },
      /*on_all_ranks=*/true);
}

Command lr_find_command() {
  struct Arguments : ConfigArguments {
    double from = 1e-6, to = 1;
    std::size_t steps = 150;
  };
  const auto a = std::make_shared<Arguments>();
  return Command("lr-find", "Suggest a learning rate from a short test run",
                 {{"config", kConfig, &a->config, kRequired},
                  {"overrides", kOverrides, &a->overrides},
                  {"--from", "the lowest learning rate", &a->from, kPositive},
                  {"--to", "the highest learning rate", &a->to, kPositive},
                  {"--steps", "number of steps from --from to --to", &a->steps,
                   Rules{.range = {{20, 1000000}}}}},
                 [a] {
                   xgrad::check<ConfigError>(a->from < a->to, "lr-find: --from ", a->from,
                                             " is not below --to ", a->to);
                   const auto tried = try_rates(a->load(), a->from, a->to, a->steps);
                   fmt::print("{}\nthe loss falls fastest at optim.lr={:.1e}\n", to_text(tried),
                              steepest(tried));
                   return 0;
                 });
}

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
      [a] {
        const SweepEnd end = run_sweep(*a, [](const std::string& table) {
          fmt::print("{}", table);
          std::fflush(stdout);
        });
        print_error(end.message);
        return end.exit_code;
      });
}

}  // namespace xgrad::commands
