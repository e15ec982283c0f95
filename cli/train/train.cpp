#include <fmt/format.h>

#include <xgrad/cli/command.hpp>
#include <xgrad/cli/outcome.hpp>
#include <xgrad/data/text/amounts.hpp>
#include <xgrad/storage/disk/publish.hpp>
#include <xgrad/storage/disk/temporary_folder.hpp>
#include <xgrad/train/config/precision.hpp>
#include <xgrad/train/inspect/trial_runs.hpp>

namespace xgrad::commands {

namespace {

struct Arguments : ConfigArguments {
  bool quiet = false, json = false;
  bool overfit_batch = false, dry_run = false;
};

int train(const Arguments& arguments) {
  return report(start_run(arguments.load(), arguments.config, {arguments.quiet}), arguments.json);
}

int overfit(const Arguments& arguments) {
  const Overfit result = overfit_batch(arguments.load(), [&](const StepReport& report) {
    if (arguments.quiet || report.step % 100 != 0) return;
    fmt::print(stderr, "step {:>5}  loss {:.6f}\n", report.step, report.loss);
  });
  fmt::print("{}: one batch of {} examples, loss {:.2e} after {} steps\n",
             result.memorised ? "memorised" : "NOT memorised", result.examples, result.last.loss,
             result.last.step);
  return result.memorised ? 0 : 1;
}

// Trains two steps, evaluates, writes a checkpoint and reads it back. Leaves no files behind.
int dry_run(const Arguments& arguments) {
  const Config config = arguments.load();
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
  const auto a = std::make_shared<Arguments>();
  return Command(
      "train", "Train the model of a config in a new run directory",
      {{"config", kConfig, &a->config, kRequired},
       {"overrides", kOverrides, &a->overrides},
       {"-q,--quiet", kQuiet, &a->quiet},
       {"--json", kJson, &a->json},
       {"--overfit-batch", "only memorise one batch as a check; leaves no files",
        &a->overfit_batch},
       {"--dry-run",
        "only two steps, an evaluation, a save; leaves no files",
        &a->dry_run,
        {.excludes = {"--overfit-batch"}}}},
      [a] {
        return (a->overfit_batch ? overfit : a->dry_run ? dry_run : train)(*a);
      },
      /*on_all_ranks=*/true);
}

}  // namespace xgrad::commands
