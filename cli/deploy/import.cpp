#include <fmt/format.h>

#include <filesystem>

#include <xgrad/cli/command.hpp>
#include <xgrad/data/text/amounts.hpp>
#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/storage/disk/publish.hpp>
#include <xgrad/train/config/precision.hpp>
#include <xgrad/train/model/build.hpp>
#include <xgrad/train/weights/foreign.hpp>
#include <xgrad/train/weights/state_dict.hpp>

namespace xgrad::commands {

namespace {

template <class T>
Checkpoint import_into(const Config& config, const ImportArguments& arguments) {
  const std::unique_ptr<Task> task = make_task(config);
  Parameters<T> parameters(config.train.seed);
  const auto model = make_model<T>(config.model, task->shape(), parameters);
  const auto weights = read_foreign(read_foreign_file(InputFile(arguments.file), arguments.from),
                                    arguments.file, arguments.from, parameters.count());
  restore_weights(weights, arguments.file, parameters);
  Checkpoint checkpoint;
  checkpoint.parameters = capture(parameters);
  checkpoint.config = to_toml(config, /*with_execution_keys=*/false);
  if (const std::string learned = task->learned(); !learned.empty()) {
    checkpoint.state[kLearned] = learned;
  }
  return checkpoint;
}

}  // namespace

std::vector<std::string> import_formats() {
  return foreign_formats();
}

int import_weights(const ImportArguments& arguments) {
  const Config config = load_config(arguments.config, arguments.overrides);
  const Checkpoint checkpoint =
      with_precision(config, [&]<class T>() { return import_into<T>(config, arguments); });
  const std::filesystem::path out = arguments.out;
  const std::string folder = out.has_parent_path() ? out.parent_path().string() : ".";
  publish(folder, out.filename().string(), to_hdf5(checkpoint));
  fmt::print("{}: {} numbers in {} tensors, of {}\n", arguments.out,
             grouped(count(checkpoint.parameters)), checkpoint.parameters.size(), arguments.file);
  return 0;
}

}  // namespace xgrad::commands
