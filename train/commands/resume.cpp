#include <algorithm>
#include <filesystem>
#include <optional>

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

void check_changes(const Config& before, const std::string& file, const Config& config,
                   const std::vector<std::string>& allowed) {
  std::string refused;
  for (const std::string& difference : differences(before, config)) {
    if (std::find(allowed.begin(), allowed.end(), key_of(difference)) != allowed.end()) continue;
    refused += "\n  " + difference + "   (--allow-change " + key_of(difference) + ")";
  }
  xgrad::check<ConfigError>(refused.empty(), "the config differs from that of ", file, ":",
                            refused);
}

// What was allowed once is the run's own from then on.
void keep_changes(const RunDirectory& run, const Config& before, const Config& config) {
  if (!differences(before, config).empty()) run.replace_config(to_toml(config));
}

bool is_newest(const RunSource& source) {
  return fs::equivalent(latest_checkpoint(source.directory + "/checkpoints"), source.file);
}

}  // namespace

int resume(const ResumeArguments& arguments) {
  const SessionOptions options{arguments.quiet};
  // A directory is locked before its newest checkpoint is looked for, which then stays the newest.
  std::optional<RunDirectory> run;
  if (fs::is_directory(arguments.run)) run.emplace(RunDirectory::open(arguments.run));
  if (run && list_checkpoints(run->checkpoints()).empty()) {  // ended before its first save
    const Config before = load_config(run->config_path(), {}, ConfigWriter::xgrad);
    const Config config = load_config(run->config_path(), arguments.overrides, ConfigWriter::xgrad);
    check_changes(before, run->config_path(), config, arguments.allow_change);
    keep_changes(*run, before, config);
    return report(continue_run(config, *run, nullptr, options), arguments.json);
  }

  const RunSource source = find_run(arguments.run);
  xgrad::check<IoError>(!source.directory.empty(), source.file,
                        " does not lie in a run directory, so there is nothing to resume");
  const Config config =
      load_config(source.directory + "/config.toml", arguments.overrides, ConfigWriter::xgrad);
  check_changes(source.config, source.file, config, arguments.allow_change);
  if (!run && is_newest(source)) {
    run.emplace(RunDirectory::open(source.directory));
    if (!is_newest(source)) run.reset();  // somebody went on in the meantime
  }
  if (run) keep_changes(*run, source.config, config);
  return report(run ? continue_run(config, *run, &source.checkpoint, options)
                    : branch_run(config, source.directory, source.checkpoint, options),
                arguments.json);
}

}  // namespace xgrad::commands
