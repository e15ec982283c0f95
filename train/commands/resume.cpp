#include <algorithm>

#include <xgrad/autograd/check.hpp>
#include <xgrad/train/commands.hpp>
#include <xgrad/train/commands/outcome.hpp>
#include <xgrad/train/commands/run_source.hpp>

namespace xgrad::commands {

namespace {

// "optim.lr" of "optim.lr: 0.001 -> 0.0003"
std::string key_of(const std::string& difference) {
  return difference.substr(0, difference.find(':'));
}

void check_changes(const Config& config, const RunSource& source,
                   const std::vector<std::string>& allowed) {
  std::string refused;
  for (const std::string& difference : differences(source.config, config)) {
    if (std::find(allowed.begin(), allowed.end(), key_of(difference)) != allowed.end()) continue;
    refused += "\n  " + difference + "   (--allow-change " + key_of(difference) + ")";
  }
  xgrad::check<ConfigError>(refused.empty(), "the config differs from that of ", source.file, ":",
                            refused);
}

}  // namespace

int resume(const ResumeArguments& arguments) {
  RunSource source = find_run(arguments.run);
  xgrad::check<IoError>(!source.directory.empty(), source.file,
                        " does not lie in a run directory, so there is nothing to resume");
  const std::string file = source.directory + "/config.toml";
  const Config config = load_config(file, arguments.overrides);
  check_changes(config, source, arguments.allow_change);

  const SessionOptions options{arguments.quiet};
  if (latest_checkpoint(source.directory + "/checkpoints") != source.file) {
    return report(branch_run(config, source.directory, source.checkpoint, options), arguments.json);
  }
  return report(
      continue_run(config, RunDirectory::open(source.directory), source.checkpoint, options),
      arguments.json);
}

}  // namespace xgrad::commands
