#include <fcntl.h>
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
#include <xgrad/cli/start_ranks.hpp>
#include <xgrad/data/option_text.hpp>
#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/storage/disk/temporary.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/run/session.hpp>
#include <xgrad/train/run/signals.hpp>

namespace xgrad::commands {

namespace {

struct Arguments : ConfigArguments {
  std::size_t at = 0, ranks = 1;
  bool quiet = false;
};

constexpr int kNotFinite = 5;  // exit code after a NaN or infinity

// Tells a process that this command starts to train the config, or to "resume" the run.
constexpr const char* kPart = "XGRAD_VERIFY_RESUME";

// Starts a program that is killed when this one ends, and shows its messages, but not its results.
pid_t start(std::vector<std::string> words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const pid_t parent = ::getpid(), child = ::fork();
  xgrad::check<IoError>(child >= 0, "cannot start a process: ", std::strerror(errno));
  if (child != 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(128 + SIGKILL);  // the parent ended before prctl()
  ::dup2(::open("/dev/null", O_WRONLY), STDOUT_FILENO);
  ::execvp(pointers[0], pointers.data());
  std::fprintf(stderr, "cannot start %s: %s\n", pointers[0], std::strerror(errno));
  ::_exit(1);
}

int exit_code(const Outcome& outcome) {
  return outcome.signal != 0 ? 128 + outcome.signal : 0;
}

// Waits until a process and those that it started have ended; kills it when a signal asks to stop.
// Returns the exit code.
int wait_for(pid_t child, const Signals& signals) {
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    if (signals.stop() != 0) ::kill(child, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  while (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR) continue;
  if (signals.stop() != 0) return 128 + signals.stop();
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Trains the config in a directory, or resumes it there, in a process or on several ranks. Rank 0
// kills itself after step `kill_at`.
int run(const char* part, const std::string& directory, std::size_t ranks, std::uint64_t kill_at,
        const Arguments& arguments, const Signals& signals) {
  std::vector<std::string> words = {std::filesystem::read_symlink("/proc/self/exe"),
                                    "verify-resume", arguments.config};
  if (ranks > 1) {
    ::setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    ::setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    words.insert(words.begin(),
                 {"mpirun", "--oversubscribe", "--bind-to", "none", "-n", std::to_string(ranks)});
  }
  words.insert(words.end(), arguments.overrides.begin(), arguments.overrides.end());
  words.insert(words.end(), {"run.dir=" + to_literal(directory), "--at", std::to_string(kill_at)});
  if (arguments.quiet) words.push_back("--quiet");
  ::setenv(kPart, part, 1);
  return wait_for(start(words), signals);
}

// The same in the process that run() starts. Resumes with the config in the directory, as it stands
// there now.
int take_part(const std::string& part, const Config& config, const Arguments& arguments) {
  const SessionOptions options{arguments.quiet, arguments.at};
  if (part != "resume") return exit_code(start_run(config, arguments.config, options));
  const RunDirectory run = RunDirectory::open(config.run_dir);
  const Config own = load_config(run.folder().path_of("config.toml"), {}, ConfigWriter::xgrad);
  std::optional<Checkpoint> newest;
  if (!list_checkpoints(run.checkpoints()).empty()) {
    newest = latest_checkpoint(run.checkpoints());
  }
  return exit_code(continue_run(own, run, newest ? &*newest : nullptr, options));
}

bool same(const std::string& what, const std::string& a, const std::string& b) {
  const bool equal = a == b;
  fmt::print("{:<16} {} bytes  {}\n", what, a.size(), equal ? "the same" : "DIFFERENT");
  return equal;
}

int train_and_compare(const Arguments& arguments, const TemporaryFolder& scratch,
                      const Signals& signals) {
  const std::string whole = scratch / "whole", killed = scratch / "killed";
  const auto last = [](const std::string& run) { return latest_checkpoint(run + "/checkpoints"); };
  if (const int code = run("train", whole, 1, 0, arguments, signals)) return code;
  const std::uint64_t steps = last(whole).step;
  const std::uint64_t at = arguments.at > 0 ? arguments.at : steps / 2;
  xgrad::check<ConfigError>(at > 0 && at < steps, "verify-resume: --at is ", at,
                            ", must be above 0 and below the run's ", steps, " steps");

  const int end = run("train", killed, arguments.ranks, at, arguments, signals);
  if (end != 128 + SIGKILL) return end;  // mpirun tells the signal of a rank by its exit code, too
  const bool saved = !list_checkpoints(killed + "/checkpoints").empty();
  const std::uint64_t from = saved ? last(killed).step : 0;
  if (const int code = run("resume", killed, arguments.ranks, 0, arguments, signals)) return code;

  const std::string where =
      arguments.ranks == 1 ? "" : fmt::format(" on {} processes", arguments.ranks);
  fmt::print("{} steps, and {} steps{}, killed and resumed from step {}\n", steps, at, where, from);
  const std::string metrics = "/metrics.jsonl";
  bool equal = same("metrics.jsonl", read_file(whole + metrics), read_file(killed + metrics));
  const SavedCheckpoint a = last(whole), b = last(killed);
  equal = same("last checkpoint", read_file(a.file), read_file(b.file)) && equal;
  const auto lines = differences(a, b);
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
  if (const char* part = std::getenv(kPart)) return take_part(part, config, arguments);
  xgrad::check<ConfigError>(arguments.ranks == 1 || has_mpi(),
                            "verify-resume: this xgrad cannot start several processes; `./run mpi` "
                            "builds one that can, build/mpi/xgrad");
  const Signals signals;
  TemporaryFolder scratch;
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // to wait for grandchildren too
  const int code = train_and_compare(arguments, scratch, signals);
  if (code == kNotFinite) {  // the folder holds the failed step
    scratch.keep();
    std::fprintf(stderr, "the runs are kept in %s\n", scratch.path().c_str());
  }
  return code;
}

}  // namespace

Command verify_resume_command() {
  const auto a = std::make_shared<Arguments>();
  return Command(
      "verify-resume", "Check that a run resumes to the same bits after kill -9",
      {{"config", kConfig, &a->config, kRequired},
       {"overrides", kOverrides, &a->overrides},
       {"--at", "the step after which to kill the run; default: half of its steps", &a->at},
       {"--ranks",
        "kill and resume a run of this many processes; the uninterrupted run has one process",
        &a->ranks, Rules{.range = {{1, 4096}}}},
       {"-q,--quiet", kQuiet, &a->quiet}},
      [a] { return verify_resume(*a); }, /*on_all_ranks=*/true);
}

}  // namespace xgrad::commands
