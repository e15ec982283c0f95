#include <algorithm>
#include <filesystem>

#include <xgrad/autograd/check.hpp>
#include <xgrad/train/commands.hpp>
#include <xgrad/train/commands/outcome.hpp>
#include <xgrad/train/run_source.hpp>

namespace xgrad::commands {

namespace fs = std::filesystem;

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
  const SessionOptions options{arguments.quiet};
  if (fs::exists(arguments.run + "/config.toml") &&
      list_checkpoints(arguments.run + "/checkpoints").empty()) {  // ended before its first save
    const RunDirectory run = RunDirectory::open(arguments.run);
    const Config config = load_config(run.config_path(), arguments.overrides, ConfigWriter::xgrad);
    return report(continue_run(config, run, nullptr, options), arguments.json);
  }

  const RunSource source = find_run(arguments.run);
  xgrad::check<IoError>(!source.directory.empty(), source.file,
                        " does not lie in a run directory, so there is nothing to resume");
  const Config config =
      load_config(source.directory + "/config.toml", arguments.overrides, ConfigWriter::xgrad);
  check_changes(config, source, arguments.allow_change);
  if (!fs::equivalent(latest_checkpoint(source.directory + "/checkpoints"), source.file)) {
    return report(branch_run(config, source.directory, source.checkpoint, options), arguments.json);
  }
  const RunDirectory run = RunDirectory::open(source.directory);
  return report(continue_run(config, run, &source.checkpoint, options), arguments.json);
}

}  // namespace xgrad::commands
