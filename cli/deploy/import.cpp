#include <fmt/format.h>

#include <xgrad/cli/command.hpp>
#include <xgrad/data/text/amounts.hpp>
#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/storage/disk/publish.hpp>
#include <xgrad/train/checkpoint/state_dict.hpp>
#include <xgrad/train/config/precision.hpp>
#include <xgrad/train/model/build.hpp>
#include <xgrad/train/weights/foreign.hpp>

namespace xgrad::commands {

namespace {

struct Arguments : ConfigArguments {
  std::string file, from, out;
};

template <class T>
Checkpoint import_into(const Config& config, const Arguments& arguments) {
  const std::unique_ptr<Task> task = make_task(config);
  Parameters<T> parameters(config.train.seed);
  const auto model = make_model<T>(config, task->shape(), parameters);
  const auto weights = read_foreign(InputFile(arguments.file), arguments.from, parameters.count());
  restore_weights(weights, arguments.file, parameters);
  Checkpoint checkpoint;
  checkpoint.parameters = capture(parameters);
  checkpoint.config = to_toml(config, /*with_execution_keys=*/false);
  if (const std::string learned = task->learned(); !learned.empty()) {
    checkpoint.state[kLearned] = learned;
  }
  return checkpoint;
}

int import_weights(const Arguments& arguments) {
  const Config config = load_config(arguments.config, arguments.overrides);
  const Checkpoint checkpoint =
      with_precision(config, [&]<class T>() { return import_into<T>(config, arguments); });
  publish_file(arguments.out, to_hdf5(checkpoint));
  fmt::print("{}: {} numbers in {} tensors, of {}\n", arguments.out,
             grouped(count(checkpoint.parameters)), checkpoint.parameters.size(), arguments.file);
  return 0;
}

}  // namespace

Command import_command() {
  const auto a = std::make_shared<Arguments>();
  return Command(
      "import", "Make a checkpoint from a weight file of another program",
      {{"file", "the weight file", &a->file, kRequired},
       {"overrides", kOverrides, &a->overrides},
       {"--from", "the file format", &a->from, {.required = true, .choices = foreign_formats()}},
       {"--config", "a TOML file whose model has these weights", &a->config, kRequired},
       {"--out", "the new checkpoint", &a->out, {.required = true, .new_path = true}}},
      [a] { return import_weights(*a); });
}

}  // namespace xgrad::commands
