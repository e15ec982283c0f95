#include <algorithm>
#include <filesystem>
#include <optional>

#include <xgrad/autograd/check.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/checkpoint/seal.hpp>
#include <xgrad/train/config/toml.hpp>
#include <xgrad/train/run/session.hpp>

namespace xgrad {

namespace fs = std::filesystem;

namespace {

void check_changes(const Config& before, const std::string& file, const Config& config,
                   const std::vector<std::string>& allowed) {
  std::string refused;
  for (const ConfigDifference& difference : differences(before, config)) {
    if (std::find(allowed.begin(), allowed.end(), difference.key) != allowed.end()) continue;
    refused += "\n  " + to_string(difference) + "   (--allow-change " + difference.key + ")";
  }
  check<ConfigError>(refused.empty(), "the config differs from that of ", file, ":", refused);
}

// A run without checkpoints starts again from step 0, unless its checkpoints were lost.
void check_not_lost(const RunDirectory& run) {
  const auto listed = read_manifest(run.checkpoints());
  // One entry is no proof of a loss: the first checkpoint is listed before it is written.
  const auto lost = std::count_if(listed.begin(), listed.end(), [](const auto& entry) {
    return entry.first != kListedCertificate;
  });
  check<CheckpointError>(lost < 2, run.checkpoints().path(), ": there is no checkpoint, but ",
                         kManifest, " lists ", lost, "; put one back, or start a new run");
}

bool is_newest(const FoundRun& source) try {
  return fs::equivalent(
      latest_checkpoint(source.directory + "/checkpoints", PassOver::unsaved).file, source.file);
} catch (const NewerFormatError&) {
  return false;  // this xgrad cannot read the newest one
}

bool names_a_directory(const std::vector<std::string>& overrides) {
  return std::any_of(overrides.begin(), overrides.end(), [](const std::string& override) {
    return override.rfind("run.dir=", 0) == 0;
  });
}

}  // namespace

Outcome resume_run(const std::string& path, const std::vector<std::string>& overrides,
                   const std::vector<std::string>& allow_change, SessionOptions options) {
  // Locks the directory first, so that its newest checkpoint stays the newest.
  std::optional<RunDirectory> run;
  if (fs::is_directory(status_of(path))) run.emplace(RunDirectory::open(path));
  std::optional<FoundRun> source;  // absent if the run ended before its first save
  if (run && list_checkpoints(run->checkpoints()).empty()) {
    check_not_lost(*run);
  } else {
    source = find_run(path, {}, PassOver::unsaved);
    check<IoError>(!source->directory.empty(), source->file,
                   " is not in a run directory, so there is no run to resume");
    if (!run && is_newest(*source)) {
      run.emplace(RunDirectory::open(source->directory));
      if (!is_newest(*source)) run.reset();  // another process has continued the run
    }
  }

  const Folder folder(source ? source->directory : run->path());
  const std::string file = folder.path_of("config.toml");
  const std::string text = folder.read("config.toml", detail::kMostConfigBytes);
  Config config = parse_config(text, file, overrides, ConfigWriter::xgrad);
  // A change that was allowed once belongs to the run's config, even if no checkpoint holds it yet.
  const bool own = !source || (run && run->config_was_replaced());
  const Config before = own ? parse_config(text, file, {}, ConfigWriter::xgrad) : source->config;
  check_changes(before, own ? file : source->file, config, allow_change);
  options.keep_config = !differences(before, config).empty();
  const bool elsewhere = names_a_directory(overrides);
  check<ConfigError>(!run || !elsewhere, run ? run->path() : "",
                     ": run.dir cannot change when a run continues; give one of its older "
                     "checkpoints to resume that in another directory");
  if (!run && !elsewhere) config.run_dir.clear();  // never the directory of the original run
  return run ? continue_run(config, *run, source ? &source->checkpoint : nullptr, options)
             : branch_run(config, source->directory, source->checkpoint, options);
}

}  // namespace xgrad
