#include <fmt/format.h>

#include <xgrad/cli/command.hpp>
#include <xgrad/data/text/amounts.hpp>
#include <xgrad/storage/disk/publish.hpp>
#include <xgrad/train/weights/constructed.hpp>

namespace xgrad::commands {

namespace {

struct Arguments {
  std::string name, out;
  std::vector<std::string> overrides;
  double noise = 0;
};

int construct_encoder(const Arguments& arguments) {
  if (arguments.name.empty()) {
    for (const ConstructedEncoder& encoder : constructed_encoders()) {
      fmt::print("{:<10} {}\n", encoder.name, encoder.help);
    }
    return 0;
  }
  const ConstructedEncoder& encoder = find_constructed_encoder(arguments.name);
  const std::string out = arguments.out.empty() ? encoder.name + ".h5" : arguments.out;
  const Checkpoint checkpoint = construct(encoder, arguments.overrides, arguments.noise);
  publish_file(out, to_hdf5(checkpoint));
  fmt::print("{}: {} numbers in {} tensors\n", out, grouped(count(checkpoint.parameters)),
             checkpoint.parameters.size());
  return 0;
}

}  // namespace

Command construct_command() {
  const auto a = std::make_shared<Arguments>();
  return Command(
      "construct", "Write a checkpoint of an encoder whose weights are known, or list them",
      {{"name", "name of an encoder; default: list all", &a->name},
       {"overrides", "task.KEY=VALUE sets a key of its task, train.seed the noise", &a->overrides},
       {"--noise", "add normal noise of this standard deviation to every weight", &a->noise,
        kPositive},
       {"--out", "the new checkpoint; default: NAME.h5", &a->out, kNewPath}},
      [a] { return construct_encoder(*a); });
}

}  // namespace xgrad::commands
