#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include <xgrad/autograd/check.hpp>
#include <xgrad/train/checkpoint_diff.hpp>
#include <xgrad/train/commands.hpp>
#include <xgrad/train/publish.hpp>
#include <xgrad/train/session.hpp>

namespace xgrad::commands {

namespace fs = std::filesystem;

namespace {

// A folder that goes when this does.
class Scratch {
 public:
  Scratch() : path_((fs::temp_directory_path() / "xgrad-XXXXXX").string()) {
    xgrad::check<IoError>(::mkdtemp(path_.data()) != nullptr, path_, ": cannot make the directory");
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::string operator/(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// From the file of the stopped run alone, as another process would.
Outcome go_on(const std::string& directory, const SessionOptions& options) {
  const RunDirectory run = RunDirectory::open(directory);
  const Checkpoint checkpoint = load_checkpoint(latest_checkpoint(run.checkpoints()));
  const Config config = load_config(run.config_path(), {}, ConfigWriter::xgrad);
  return continue_run(config, run, &checkpoint, options);
}

bool same(const std::string& what, const std::string& a, const std::string& b) {
  const bool equal = a == b;
  fmt::print("{:<16} {} bytes  {}\n", what, a.size(), equal ? "the same" : "DIFFERENT");
  return equal;
}

}  // namespace

int verify_resume(const VerifyResumeArguments& arguments) {
  Config config = load_config(arguments.config, arguments.overrides);
  xgrad::check<ConfigError>(config.train.max_seconds == 0,
                            "verify-resume: train.max_seconds would stop the runs");
  const Scratch scratch;
  SessionOptions options{.quiet = arguments.quiet};
  config.run_dir = scratch / "whole";
  const Outcome whole = start_run(config, arguments.config, options);
  if (whole.signal != 0) return 128 + whole.signal;
  const std::uint64_t steps = whole.result.steps;
  const std::uint64_t at = arguments.at > 0 ? arguments.at : steps / 2;
  xgrad::check<ConfigError>(at > 0 && at < steps, "verify-resume: --at ", at, " of a run of ",
                            steps, " steps");

  config.run_dir = scratch / "stopped";
  options.stop_at = at;
  if (const Outcome stopped = start_run(config, arguments.config, options); stopped.signal != 0) {
    return 128 + stopped.signal;
  }
  options.stop_at = 0;
  const Outcome resumed = go_on(config.run_dir, options);
  if (resumed.signal != 0) return 128 + resumed.signal;

  const auto last = [&](const char* run) {
    return latest_checkpoint((scratch / run) + "/checkpoints");
  };
  const auto read = [&](const char* run, const char* file) {
    return read_file((scratch / run) + "/" + file);
  };
  fmt::print("{} steps, and {} steps, stopped and resumed\n", steps, at);
  bool equal =
      same("metrics.jsonl", read("whole", "metrics.jsonl"), read("stopped", "metrics.jsonl"));
  equal = same("last checkpoint", read_file(last("whole")), read_file(last("stopped"))) && equal;
  const auto lines = differences(load_checkpoint(last("whole")), load_checkpoint(last("stopped")));
  for (const std::string& line : lines) fmt::print("  {}\n", line);
  fmt::print("{}\n", equal ? "resumed to the bit" : "the resumed run differs");
  return equal ? 0 : 1;
}

}  // namespace xgrad::commands
