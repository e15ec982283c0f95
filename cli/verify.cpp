// The commands verify, verify-resume, gradcheck, replay and diff, which check files, gradients and
// runs that resume after a kill.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
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
#include <xgrad/data/options.hpp>
#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/storage/disk/publish.hpp>
#include <xgrad/storage/disk/temporary.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/diagnose/trace.hpp>
#include <xgrad/train/inspect/gradcheck.hpp>
#include <xgrad/train/logs/history.hpp>
#include <xgrad/train/logs/metrics_row.hpp>
#include <xgrad/train/run/digests.hpp>
#include <xgrad/train/run/directory.hpp>
#include <xgrad/train/run/session.hpp>
#include <xgrad/train/run/signals.hpp>

namespace xgrad::commands {

namespace {

constexpr int kDamaged = 4, kUnreadable = 6;

// Prints "FILE: ok", or what is wrong. Returns the exit code.
int verify_checkpoint(const std::string& file) {
  std::string why;
  int bad = kDamaged;
  try {
    why = find_damage(file);
  } catch (const CheckpointError& error) {  // not damaged, but in a newer format
    why = error.what();
  } catch (const IoError& error) {
    why = error.what();
    bad = kUnreadable;
  }
  fmt::print("{}\n", why.empty() ? file + ": ok" : why);
  return why.empty() ? 0 : bad;
}

// Checks the lines of metrics.jsonl up to a step, and prints the number of the first line that is
// not a row. Returns the exit code.
int verify_metrics(const Folder& run, std::uint64_t step) {
  const std::string name = "metrics.jsonl";
  if (!run.holds(name)) return 0;
  const RowsUntil found = rows_until(run, name, step);
  if (found.bad.empty()) return 0;
  fmt::print("{}: line {} is not a row of this run; `xgrad resume {}` moves it to {}.bad\n",
             run.path_of(name), found.bad[0], run.path(), name);
  return kDamaged;
}

// The config of a run, with its own data where the run is now.
Config own_config(const std::string& run) {
  Config config = read_run(run).config;
  follow_own_data(config, run);
  return config;
}

// Checks the gradients of some tensors of the certificate again. Returns the exit code.
int verify_certificate(const Folder& run) {
  const std::string file = run.path_of(kCertificate);
  try {
    const Certificate certificate = *read_certificate(run);
    const std::size_t again = recheck(certificate, own_config(run.path()), run.path());
    fmt::print("{}: ok, {} of {} rows checked again\n", file, again,
               certificate.check.report.rows.size());
    return 0;
  } catch (const CheckpointError& error) {
    const std::string why = error.what();
    fmt::print("{}; write a new one with `xgrad gradcheck {}`\n",
               why.starts_with(file) ? why : file + " " + why, run.path());
    return kDamaged;
  }
}

int verify_run(const std::string& path) {
  const Folder run(path);
  check_is_run(run);
  std::vector<CheckpointFile> files;
  if (run.holds_folder("checkpoints")) files = list_checkpoints(path + "/checkpoints");
  if (files.empty()) fmt::print("{}: there is no checkpoint\n", path);
  int code = files.empty() ? kDamaged : 0;
  const auto add = [&code](int result) { code = code != 0 ? code : result; };
  std::uint64_t step = 0;  // step of the newest good checkpoint
  for (const CheckpointFile& file : files) {
    const int result = verify_checkpoint(file.path);
    if (result == 0) step = file.step;
    add(result);
  }
  add(verify_metrics(run, step));
  if (run.holds(kCertificate)) add(verify_certificate(run));
  return code;
}

// Returns the exit code of the first bad file.
int verify(const std::vector<std::string>& paths) {
  int code = 0;
  for (const std::string& path : paths) {
    int result = kUnreadable;
    try {
      const bool run = std::filesystem::is_directory(status_of(path));
      result = run ? verify_run(path) : verify_checkpoint(path);
    } catch (const IoError& error) {
      fmt::print("{}\n", error.what());
    }
    if (code == 0) code = result;
  }
  return code;
}

struct ResumeArguments : ConfigArguments {
  std::size_t at = 0, ranks = 1;
  bool quiet = false;
};

constexpr int kNotFinite = 5;  // exit code after a NaN or infinity

// Environment variable for a process that this command starts: "train" or "resume".
constexpr const char* kPart = "XGRAD_VERIFY_RESUME";

// Starts a program, which is killed when this one ends. Shows its messages, but not its results.
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

// Waits until a process and its children have ended; kills the process when a signal asks to stop.
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

// Trains the config in a directory, or resumes the run there, in one process or on several ranks.
// Rank 0 kills itself after step `kill_at`.
int run(const char* part, const std::string& directory, std::size_t ranks, std::uint64_t kill_at,
        const ResumeArguments& arguments, const Signals& signals) {
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

// The work of a process that run() starts. To resume, it uses the directory's current config.
int take_part(const std::string& part, const Config& config, const ResumeArguments& arguments) {
  const SessionOptions options{arguments.quiet, arguments.at};
  Outcome outcome;
  if (part != "resume") {
    outcome = start_run(config, arguments.config, options);
  } else {
    const RunDirectory run = RunDirectory::open(config.run_dir);
    const Config own = load_config(run.folder().path_of("config.toml"), {}, ConfigWriter::xgrad);
    std::optional<Checkpoint> newest;
    if (!list_checkpoints(run.checkpoints()).empty()) newest = latest_checkpoint(run.checkpoints());
    outcome = continue_run(own, run, newest ? &*newest : nullptr, options);
  }
  return outcome.signal != 0 ? 128 + outcome.signal : 0;
}

int train_and_compare(const ResumeArguments& arguments, const TemporaryFolder& scratch,
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
  const SavedCheckpoint a = last(whole), b = last(killed);
  bool equal = true;
  const auto compare = [&](const char* what, const std::string& one, const std::string& other) {
    const std::string bytes = read_file(one);
    const bool same = bytes == read_file(other);
    fmt::print("{:<16} {} bytes  {}\n", what, bytes.size(), same ? "the same" : "DIFFERENT");
    equal = equal && same;
  };
  compare("metrics.jsonl", whole + "/metrics.jsonl", killed + "/metrics.jsonl");
  compare("last checkpoint", a.file, b.file);
  for (const std::string& line : differences(a, b)) fmt::print("  {}\n", line);
  fmt::print("{}\n", equal ? "resumed to the bit" : "the resumed run differs");
  return equal ? 0 : 1;
}

// Trains a config twice, once without interruption and once killed and resumed, and compares
// metrics and last checkpoints. Returns 1 when they differ.
int verify_resume(const ResumeArguments& arguments) {
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

struct GradcheckArguments : ConfigArguments {
  std::string certificate;
};

int print(const Certificate& certificate) {
  const ModelCheck& check = certificate.check;
  const bool images = check.lengths[0] == 0;
  fmt::print("{}differences in {}; {}\n", check.report.table(), check.arithmetic,
             images ? fmt::format("{} images", check.lengths.size())
                    : fmt::format("examples of length {}", fmt::join(check.lengths, " and ")));
  if (certificate.precision == "bf16") {
    fmt::print(
        "backward is checked in double; the rounding of products' operands to bfloat16 in training "
        "is not covered\n");
  }
  return check.report.ok() ? 0 : 1;
}

// Keeps the run locked, so that nobody can change its config meanwhile.
int check_run(const GradcheckArguments& a) {
  xgrad::check<ConfigError>(
      a.overrides.empty() && a.certificate.empty(), a.config,
      " is a run: its own config is checked, and the certificate goes into its directory; to give "
      "settings or --certificate, name a config file");
  const RunDirectory run = RunDirectory::open(a.config);
  const Certificate certificate = certify(own_config(a.config), a.config);
  run.replace_certificate(to_json(certificate));
  return print(certificate);
}

int gradcheck(const GradcheckArguments& a) {
  if (std::filesystem::is_directory(status_of(a.config))) return check_run(a);
  const Config config = load_config(a.config, a.overrides);
  if (!a.certificate.empty()) check_new(a.certificate);
  const Certificate certificate = certify(config);
  if (!a.certificate.empty()) publish_file(a.certificate, to_json(certificate));
  return print(certificate);
}

std::string difference(const ReplayRow& row) {
  if (!row.finite) return row.reference_finite ? "not finite" : "both not finite";
  return row.reference_finite ? fmt::format("{:.1e}", row.difference) : "reference not finite";
}

// Reports errors as damage to the file, except errors in the task's own data files.
std::vector<ReplayRow> run(const Checkpoint& failed, const std::string& file) try {
  fmt::print("{}\n{}\n\n", file, state_value<std::string>(failed, "fault"));
  return xgrad::replay(failed);
} catch (const Error& error) {
  if (dynamic_cast<const DataError*>(&error) || dynamic_cast<const IoError*>(&error)) throw;
  xgrad::detail::fail<CheckpointError>(file, ": ", error.what());
}

int replay(const std::string& file) {
  const std::vector<ReplayRow> rows = run(load_checkpoint(file, CheckpointKind::failed_step), file);
  const auto first = std::ranges::find_if(rows, &ReplayRow::leaves_band);
  fmt::print("  {:>4}  {:<20} {:<28} {:<44} {:>16} {:>10}  {}\n", "op", "name", "module", "tensor",
             "shape", "largest", "difference");
  for (const ReplayRow& row : rows) {
    const char mark = first != rows.end() && &row == &*first ? '>' : ' ';
    fmt::print("{} {:>4}  {:<20} {:<28} {:<44} {:>16} {:>10.3g}  {}\n", mark, row.place.number,
               row.place.op, row.place.module, row.place.tensor, to_string(row.shape), row.largest,
               difference(row));
  }
  if (first == rows.end()) {
    fmt::print("\nevery op stays within {:g} of the reference\n", ReplayRow::kBand);
    return 0;
  }
  fmt::print("\nthe first to differ from the reference: {} at {}: {}\n", to_string(first->place),
             index_text(first->shape, first->worst), difference(*first));
  return 1;
}

}  // namespace

Command verify_command() {
  const auto paths = std::make_shared<std::vector<std::string>>();
  return Command(
      "verify",
      "Check checkpoints and metrics for damage, and recheck a run's gradient certificate (see "
      "gradcheck)",
      {{"paths", "run directories or checkpoints", paths.get(), kRequired}},
      [paths] { return verify(*paths); });
}

Command verify_resume_command() {
  const auto a = std::make_shared<ResumeArguments>();
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

Command gradcheck_command() {
  const auto a = std::make_shared<GradcheckArguments>();
  return Command(
      "gradcheck", "Check a model's gradients by finite differences",
      {{"config", "a TOML file, or a run directory, where the results are saved as its certificate",
        &a->config, kRequired},
       {"overrides", kOverrides, &a->overrides},
       {"--certificate", "write the results to this new file, as JSON", &a->certificate, kNewPath}},
      [a] { return gradcheck(*a); });
}

Command replay_command() {
  const auto file = std::make_shared<std::string>();
  return Command("replay", "Rerun a failed step op by op and compare with higher precision",
                 {{"file", "a failed step, fault-*.h5 in a run directory", file.get(), kRequired}},
                 [file] { return replay(*file); });
}

Command diff_command() {
  const auto runs = std::make_shared<std::pair<std::string, std::string>>();
  return Command(
      "diff", "Show what differs in two runs or checkpoints",
      {{"first", kRun, &runs->first, kRequired}, {"second", kRun, &runs->second, kRequired}},
      [runs] {
        const FoundRun a = find_run(runs->first, {}, Take::last);
        const FoundRun b = find_run(runs->second, {}, Take::last);
        const std::vector<std::string> lines = differences(a.checkpoint, b.checkpoint);
        fmt::print("- {}\n+ {}\n", a.file, b.file);
        for (const std::string& line : lines) fmt::print("{}\n", line);
        const bool both = !a.directory.empty() && !b.directory.empty();
        const std::string first = both ? first_different_digest(a.directory, b.directory) : "";
        if (!first.empty()) fmt::print("first at {}\n", first);
        if (lines.empty()) fmt::print("the same to the bit\n");
        return lines.empty() ? 0 : 1;
      });
}

}  // namespace xgrad::commands
