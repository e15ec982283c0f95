#include <fmt/format.h>

#include <limits>

#include <xgrad/autograd/parallel.hpp>
#include <xgrad/cli/command.hpp>
#include <xgrad/cli/outcome.hpp>
#include <xgrad/data/text/amounts.hpp>
#include <xgrad/storage/disk/publish.hpp>
#include <xgrad/storage/disk/temporary_folder.hpp>
#include <xgrad/train/config/precision.hpp>
#include <xgrad/train/loop/trainer.hpp>

namespace xgrad::commands {

namespace {

constexpr double kLearnt = 1e-3;  // a batch counts as memorized below this loss
constexpr std::uint64_t kOverfitSteps = 2000;

struct Arguments : ConfigArguments {
  bool quiet = false, json = false;
  bool overfit_batch = false, dry_run = false;
};

int train(const Arguments& arguments) {
  const Config config = load_config(arguments.config, arguments.overrides);
  return report(start_run(config, arguments.config, {arguments.quiet}), arguments.json);
}

// Whether a loss still falls: by a tenth within kOverfitSteps.
struct Falling {
  double mark = std::numeric_limits<double>::infinity();
  std::uint64_t since = 0;

  bool goes_on(const StepReport& report) {
    if (report.loss < 0.9 * mark) {
      mark = report.loss;
      since = report.step;
    }
    return report.step < since + kOverfitSteps;
  }
};

// Trains on the first batch only, without dropout, label smoothing and weight decay. Returns 1 if
// the loss stops falling before it is below kLearnt. Noise in the targets is learnt slowly, so no
// fixed number of steps is enough for every model.
int overfit_batch(const Arguments& arguments) {
  Config config = load_config(arguments.config, arguments.overrides);
  if (config.train.threads > 0) set_threads(config.train.threads);
  config.model.dropout = config.model.attention_dropout = config.model.stochastic_depth = 0;
  config.train.label_smoothing = config.optim.weight_decay = 0;
  for (ParameterGroup& group : config.optim.groups) group.weight_decay.reset();
  return with_precision(config, [&]<class T>() {
    Trainer<T> trainer(config);
    std::size_t examples = 0;
    for (const Batch& batch : trainer.hold_batch()) examples += batch.size;
    StepReport report;
    Falling loss;
    while (report.step == 0 || (report.loss >= kLearnt && loss.goes_on(report))) {
      report = trainer.train_step(config.optim.lr);
      if (arguments.quiet || report.step % 100 != 0) continue;
      fmt::print(stderr, "step {:>5}  loss {:.6f}\n", report.step, report.loss);
    }
    const bool learnt = report.loss < kLearnt;
    fmt::print("{}: one batch of {} examples, loss {:.2e} after {} steps\n",
               learnt ? "learnt by heart" : "NOT learnt", examples, report.loss, report.step);
    return learnt ? 0 : 1;
  });
}

// Trains two steps, evaluates, writes a checkpoint and reads it back. Leaves no files behind.
int dry_run(const Arguments& arguments) {
  const Config config = load_config(arguments.config, arguments.overrides);
  if (config.train.threads > 0) set_threads(config.train.threads);
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
        return (a->overfit_batch ? overfit_batch : a->dry_run ? dry_run : train)(*a);
      },
      /*on_all_ranks=*/true);
}

}  // namespace xgrad::commands
