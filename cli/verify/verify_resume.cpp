#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <thread>

#include <xgrad/autograd/check.hpp>
#include <xgrad/cli/command.hpp>
#include <xgrad/cli/outcome.hpp>
#include <xgrad/cli/start_ranks.hpp>
#include <xgrad/data/option_text.hpp>
#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/storage/disk/temporary_folder.hpp>
#include <xgrad/train/checkpoint/difference.hpp>
#include <xgrad/train/run/session.hpp>
#include <xgrad/train/run/signals.hpp>

namespace xgrad::commands {

namespace {

struct Arguments : ConfigArguments {
  std::size_t at = 0, ranks = 1;
  bool quiet = false;
};

constexpr int kNotFinite = 5;  // exit code after a NaN or infinity

// Forks a child process that is killed when its parent ends. Returns the same as fork(). Requires:
// no threads have been started.
pid_t split() {
  std::fflush(stdout);
  const pid_t parent = ::getpid(), child = ::fork();
  xgrad::check<IoError>(child >= 0, "cannot start a process: ", std::strerror(errno));
  if (child != 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(128 + SIGKILL);  // the parent ended before prctl()
  return 0;
}

int exit_code(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Waits until a child and its own children have ended; kills it when a signal asks to stop. Returns
// the exit code.
int watch(pid_t child, const Signals& signals) {
  constexpr auto kPause = std::chrono::milliseconds(5);
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    if (signals.stop() != 0) ::kill(child, SIGKILL);
    std::this_thread::sleep_for(kPause);
  }
  while (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR) continue;
  return signals.stop() != 0 ? 128 + signals.stop() : exit_code(status);
}

// Waits for the end of a child and returns its exit code.
int end_of(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return exit_code(status);
}

// Becomes mpirun, which starts this program on several ranks.
[[noreturn]] void become_ranks(const Arguments& arguments, std::vector<std::string> command) {
  std::vector<std::string> words = {"mpirun",
                                    "--oversubscribe",
                                    "--bind-to",
                                    "none",
                                    "-n",
                                    std::to_string(arguments.ranks),
                                    std::filesystem::read_symlink("/proc/self/exe")};
  words.insert(words.end(), command.begin(), command.end());
  if (arguments.quiet) words.push_back("--quiet");
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  for (const char* name : {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"}) {
    ::setenv(name, "1", 1);
  }
  ::execvp("mpirun", pointers.data());
  std::fprintf(stderr, "cannot start mpirun: %s\n", std::strerror(errno));
  ::_exit(1);
}

// The words that train the config in the directory, and kill rank 0 after step `at`.
std::vector<std::string> killed_run(const Config& config, const Arguments& arguments,
                                    std::uint64_t at) {
  std::vector<std::string> words = {"verify-resume", arguments.config, "--at", std::to_string(at)};
  words.insert(words.end(), arguments.overrides.begin(), arguments.overrides.end());
  words.push_back("run.dir=" + to_literal(config.run_dir));
  return words;
}

// Trains in a child process, so that it can be killed. In the child, returns the run's exit code.
// In the parent, returns nullopt if the child ended as planned, else the code to exit with.
std::optional<int> train_apart(const Config& config, const Arguments& arguments,
                               std::uint64_t kill_at) {
  const pid_t child = split();
  if (child == 0) {
    if (kill_at > 0 && arguments.ranks > 1) {
      become_ranks(arguments, killed_run(config, arguments, kill_at));
    }
    const int signal = start_run(config, arguments.config, {arguments.quiet, kill_at}).signal;
    return signal != 0 ? 128 + signal : 0;
  }
  const int code = end_of(child);
  // mpirun tells the signal of a rank by its exit code.
  const int planned = kill_at > 0 ? 128 + SIGKILL : 0;
  return code == planned ? std::nullopt : std::optional(code);
}

// Resumes the killed run on several ranks. Returns its exit code.
int go_on_ranks(const std::string& directory, const Arguments& arguments) {
  const pid_t child = split();
  if (child == 0) become_ranks(arguments, {"resume", directory});
  return end_of(child);
}

// Resumes the killed run from its files. Sets `from` to the checkpoint's step, if there is a
// checkpoint.
Outcome go_on(const std::string& directory, bool quiet, std::uint64_t& from) {
  const RunDirectory run = RunDirectory::open(directory);
  const Config config = load_config(run.folder().path_of("config.toml"), {}, ConfigWriter::xgrad);
  if (list_checkpoints(run.checkpoints()).empty())
    return continue_run(config, run, nullptr, {quiet});
  const Checkpoint checkpoint = load_listed(latest_checkpoint(run.checkpoints()));
  from = checkpoint.step;
  return continue_run(config, run, &checkpoint, {quiet});
}

bool same(const std::string& what, const std::string& a, const std::string& b) {
  const bool equal = a == b;
  fmt::print("{:<16} {} bytes  {}\n", what, a.size(), equal ? "the same" : "DIFFERENT");
  return equal;
}

int train_and_compare(Config config, const Arguments& arguments, const TemporaryFolder& scratch) {
  const auto last = [&](const char* run) {
    return latest_checkpoint((scratch / run) + "/checkpoints");
  };
  const auto read = [&](const char* run, const char* file) {
    return read_file((scratch / run) + "/" + file);
  };

  config.run_dir = scratch / "whole";
  if (const auto code = train_apart(config, arguments, 0)) return *code;
  const std::uint64_t steps = load_checkpoint(last("whole")).step;
  const std::uint64_t at = arguments.at > 0 ? arguments.at : steps / 2;
  xgrad::check<ConfigError>(at > 0 && at < steps, "verify-resume: --at is ", at,
                            ", must be above 0 and below the run's ", steps, " steps");

  config.run_dir = scratch / "killed";
  if (const auto code = train_apart(config, arguments, at)) return *code;
  std::uint64_t from = 0;
  if (arguments.ranks > 1) {
    if (!list_checkpoints({config.run_dir + "/checkpoints"}).empty()) {
      from = load_listed(latest_checkpoint({config.run_dir + "/checkpoints"})).step;
    }
    if (const int code = go_on_ranks(config.run_dir, arguments); code != 0) return code;
  } else if (const Outcome resumed = go_on(config.run_dir, arguments.quiet, from);
             resumed.signal != 0) {
    return 128 + resumed.signal;
  }

  const std::string where =
      arguments.ranks == 1 ? "" : fmt::format(" on {} processes", arguments.ranks);
  fmt::print("{} steps, and {} steps{}, killed and resumed from step {}\n", steps, at, where, from);
  bool equal =
      same("metrics.jsonl", read("whole", "metrics.jsonl"), read("killed", "metrics.jsonl"));
  equal = same("last checkpoint", read_file(last("whole")), read_file(last("killed"))) && equal;
  const auto lines = differences(load_checkpoint(last("whole")), load_checkpoint(last("killed")));
  for (const std::string& line : lines) fmt::print("  {}\n", line);
  fmt::print("{}\n", equal ? "resumed to the bit" : "the resumed run differs");
  return equal ? 0 : 1;
}

// Trains a config twice, once without interruption and once killed and resumed, and compares
// metrics and last checkpoints. Returns 1 when they differ.
int verify_resume(const Arguments& arguments) {
  const Config config = load_config(arguments.config, arguments.overrides);
  xgrad::check<ConfigError>(config.train.max_seconds == 0,
                            "verify-resume: train.max_seconds would stop the runs; set it to 0");
  // One of several ranks: the run to be killed.
  if (ranks().size() > 1) {
    return report(start_run(config, arguments.config, {arguments.quiet, arguments.at}), false);
  }
  xgrad::check<ConfigError>(arguments.ranks == 1 || has_mpi(),
                            "verify-resume: this xgrad cannot start several processes; `./run mpi` "
                            "builds one that can, build/mpi/xgrad");
  // The parent only waits, so that it can remove the scratch folder however the child ends.
  std::optional<Signals> signals(std::in_place);
  TemporaryFolder scratch;
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // to wait for grandchildren too
  if (const pid_t child = split()) {
    const int code = watch(child, *signals);
    if (code == kNotFinite) {  // the folder holds the failed step
      scratch.keep();
      std::fprintf(stderr, "the runs are kept in %s\n", scratch.path().c_str());
    }
    return code;
  }
  signals.reset();
  return train_and_compare(config, arguments, scratch);
}

}  // namespace

Command verify_resume_command() {
  const auto a = std::make_shared<Arguments>();
  return Command(
      "verify-resume", "Prove that a run resumes bit for bit after kill -9",
      {{"config", kConfig, &a->config, kRequired},
       {"overrides", kOverrides, &a->overrides},
       {"--at", "the step after which to kill the run; default: half of its steps", &a->at},
       {"--ranks",
        "kill and resume a run of so many processes; one that is not killed has one process",
        &a->ranks,
        {.range = {{1, 4096}}}},
       {"-q,--quiet", kQuiet, &a->quiet}},
      [a] { return verify_resume(*a); }, /*on_all_ranks=*/true);
}

}  // namespace xgrad::commands
