#include <fmt/format.h>

#include <filesystem>

#include <xgrad/autograd/check.hpp>
#include <xgrad/train/commands.hpp>
#include <xgrad/train/commands/run_source.hpp>
#include <xgrad/train/console.hpp>
#include <xgrad/train/formats/safetensors.hpp>
#include <xgrad/train/publish.hpp>

namespace xgrad::commands {

namespace fs = std::filesystem;

namespace {

// A checkpoint that no run can go on from: the weights, and how they were made.
Checkpoint weights_of(const Checkpoint& checkpoint) {
  Checkpoint weights;
  weights.step = checkpoint.step;
  weights.parameters = checkpoint.parameters;
  weights.config = checkpoint.config;
  return weights;
}

}  // namespace

int export_weights(const ExportArguments& arguments) {
  const RunSource source = find_run(arguments.run);
  const Checkpoint weights = weights_of(source.checkpoint);
  const std::string bytes = arguments.to == "hdf5" ? to_hdf5(weights) : to_safetensors(weights);
  const fs::path out = arguments.out;
  publish(out.has_parent_path() ? out.parent_path().string() : ".", out.filename().string(), bytes);
  fmt::print("{}: {} numbers in {} tensors, of {}\n", arguments.out,
             grouped(count(weights.parameters)), weights.parameters.size(), source.file);
  return 0;
}

}  // namespace xgrad::commands
