#include <xgrad/cli/command_line.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <type_traits>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/kernels/cpu.hpp>
#include <xgrad/autograd/memory/memory.hpp>
#include <xgrad/autograd/nearest.hpp>
#include <xgrad/autograd/parallel.hpp>
#include <xgrad/cli/command.hpp>
#include <xgrad/cli/start_ranks.hpp>
#include <xgrad/data/rules/ngram.hpp>
#include <xgrad/storage/disk/isolated.hpp>
#include <xgrad/storage/formats/tensors.hpp>
#include <xgrad/text/excerpt.hpp>
#include <xgrad/train/config/keys.hpp>
#include <xgrad/train/logs/metrics_row.hpp>
#include <xgrad/train/run/rank_jobs.hpp>
#include <xgrad/train/run/session.hpp>
#include <xgrad/train/weights/foreign.hpp>
#include <xgrad/version.hpp>

namespace xgrad {

namespace commands {

namespace {

// CLI11 reads an empty text as 0, and -1 as 2^64 - 1.
template <class T>
std::string flaw_of_number(const std::string& text) {
  T number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc() && stop == end) return "";
  return "is " + excerpt(text) + ", must be a " +
         (std::is_integral_v<T> ? "whole number from 0 to 18446744073709551615" : "number");
}

// CLI11's own check prints the largest double when it refuses a number.
std::string flaw_of_positive(const std::string& text) {
  double number = 0;
  const bool good = CLI::detail::lexical_cast(text, number) && number > 0 && std::isfinite(number);
  return good ? "" : "is " + text + ", must be a finite number above 0";
}

// A sweep names directories after overrides, as in runs/sweep-reverse/optim.lr=0.001.
std::string flaw_of_file(const std::string& text) {
  const std::size_t equals = text.find('=');
  std::error_code ignored;
  const bool is_path =
      text.find('/') < equals || text.ends_with(".toml") || std::filesystem::exists(text, ignored);
  return equals == text.npos || is_path ? "" : text + " is an override, not a file";
}

void add(CLI::App& app, const Option& option) {
  const auto add_for = [&]<class T>(T* target) {
    if constexpr (std::is_same_v<T, bool>) {
      return app.add_flag(option.names, *target, option.help);
    } else {
      CLI::Option* added = app.add_option(option.names, *target, option.help);
      if (*target != T()) added->capture_default_str();
      if constexpr (std::is_arithmetic_v<T>) added->check({flaw_of_number<T>, ""});
      // Takes one value per occurrence, so that it does not swallow the positional arguments after
      // it.
      if (!option.positional()) added->allow_extra_args(false);
      return added;
    }
  };
  CLI::Option* added = std::visit(add_for, option.target);
  const Rules& rules = option.rules;
  added->required(rules.required);
  if (rules.positive) added->check({flaw_of_positive, "POSITIVE"});
  if (rules.new_path) added->check({xgrad::detail::flaw_of_new_path, ""});
  if (rules.range) added->check(CLI::Range(rules.range->first, rules.range->second));
  if (!rules.choices.empty()) added->check(CLI::IsMember(rules.choices));
  if (!rules.value.empty()) added->type_name(rules.value);
  for (const std::string& name : rules.needs) added->needs(name);
  for (const std::string& name : rules.excludes) added->excludes(name);
}

// The number of positional arguments that are lists, of any number of words.
std::ptrdiff_t lists(const Command& command) {
  return std::ranges::count_if(command.options, [](const Option& option) {
    return option.positional() && std::holds_alternative<std::vector<std::string>*>(option.target);
  });
}

// Suggests the nearest command; CLI11 would only say that a subcommand is required.
void require_known_command(const std::vector<Command>& all, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::vector<std::string> names;
  for (const Command& command : all) names.push_back(command.name);
  if (std::find(names.begin(), names.end(), argv[1]) != names.end()) return;
  const std::string meant = nearest(argv[1], names);
  xgrad::detail::fail<ConfigError>("there is no command '", clipped(argv[1]), "'",
                                   meant.empty() ? "" : "; did you mean '" + meant + "'?",
                                   " (`xgrad --help` lists them)");
}

// Returns the command that the command line names, after setting the targets of its options.
// If it printed help, the version or an error, returns an exit code instead.
std::variant<const Command*, int> parse(const std::vector<Command>& all, int argc, char** argv) {
  CLI::App app("Trains small transformers on CPUs. A TOML file describes a run.", "xgrad");
  app.set_version_flag("--version", kVersion);
  app.require_subcommand(1);
  const Command* named = nullptr;
  for (const Command& command : all) {
    CLI::App* subcommand = app.add_subcommand(command.name, command.help)->group(command.heading);
    for (const Option& option : command.options) add(*subcommand, option);
    if (lists(command) > 1) {  // the first list takes files, the second overrides
      subcommand->validate_positionals();
      subcommand->get_option(command.options[0].names)->check({flaw_of_file, ""});
    }
    subcommand->callback([&] { named = &command; });
  }
  require_known_command(all, argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::ostringstream out, err;
    const int code = app.exit(error, out, err) == 0 ? 0 : 2;
    std::fputs(out.str().c_str(), stdout);
    print_error(err.str());
    return code;
  }
  return named;
}

}  // namespace

Config ConfigArguments::load() const {
  Config loaded = load_config(config, overrides);
  if (loaded.train.threads > 0) set_threads(loaded.train.threads);
  return loaded;
}

std::vector<Command> all_commands() {
  std::vector<Command> all;
  const auto add = [&](const char* heading, std::vector<Command> commands) {
    for (Command& command : commands) all.push_back(std::move(command));
    for (std::size_t n = commands.size(); n > 0; --n) all[all.size() - n].heading = heading;
  };
  add("Train",
      {train_command(), resume_command(), check_command(), sweep_command(), lr_find_command()});
  add("Look inside",
      {summary_command(), profile_command(), inspect_command(), report_command(), explain_command(),
       attention_command(), patch_command(), compare_command(), diff_command()});
  add("Use a trained model", {eval_command(), predict_command(), generate_command(),
                              export_command(), import_command(), construct_command()});
  add("Check", {gradcheck_command(), verify_command(), verify_resume_command(), replay_command()});
  add("Get help",
      {config_command(), tasks_command(), info_command(), completion_command(), man_command()});
  return all;
}

void print_error(const std::string& message) {
  const auto space = [](unsigned code) { return code == '\n' ? "\n" : " "; };
  std::fputs(replace_controls(message, space).c_str(), stderr);
}

void tell_others_wait(const std::string& command) {
  const std::size_t others = ranks().size() - 1;
  if (others == 0) return;
  print_error(fmt::format("xgrad: {} runs on one process; the other {} wait\n", command, others));
}

std::string summary(const Metrics& metrics) {
  std::string text;
  for (const Figure& figure : metrics.figures()) {
    std::string name = figure.name;
    std::replace(name.begin(), name.end(), '_', ' ');
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name,
                        figure_text(figure.value, figure.standard_error));
  }
  return text;
}

std::string unknown_text(std::size_t unknown, std::size_t tokens) {
  return fmt::format("{} of {} tokens are not in the vocabulary and were read as <unk>", unknown,
                     tokens);
}

int report(const Outcome& outcome, bool json) {
  if (outcome.signal != 0) return 128 + outcome.signal;
  if (json) {
    fmt::print("{}\n", to_json(metrics_row(outcome.result.best.value_or(outcome.result.steps),
                                           "test", outcome.result.test)));
    return 0;
  }
  if (const auto best = outcome.result.best) {
    fmt::print("best    step {} of {}\n", *best, outcome.result.steps);
  }
  fmt::print("test    {}\n", summary(outcome.result.test));
  fmt::print("hash    {}\n", outcome.result.hash);
  for (const Rule& rule : outcome.result.rules) {
    fmt::print("rule    {}: accuracy {:.4f}, exact match {:.4f}{}\n", rule.name, rule.accuracy,
               rule.exact, loss_text(rule));
  }
  for (const Verdict& verdict : outcome.verdicts) {
    fmt::print("expect  {}: {}  {}\n", verdict.claim, verdict.found,
               verdict.holds ? "ok" : "FAILED");
  }
  return 0;
}

}  // namespace commands

namespace {

int run(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == kIsolatedWork) {
    do_isolated_work({argv + 2, argv + argc}, do_foreign_work);
    return 0;
  }
  const std::vector<commands::Command> all = commands::all_commands();
  const auto parsed = commands::parse(all, argc, argv);
  const auto* command = std::get_if<const commands::Command*>(&parsed);
  if (command != nullptr) cpu();  // refuses a wrong XGRAD_CPU before the command runs
  if (command != nullptr && !(*command)->on_all_ranks) commands::tell_others_wait((*command)->name);
  const int code = command != nullptr ? (*command)->run() : std::get<int>(parsed);
  if (const std::string shortage = thread_shortage(); !shortage.empty()) {
    std::fprintf(stderr, "xgrad: warning: ran on %s\n", shortage.c_str());
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    throw IoError(std::string("cannot write to standard output: ") + std::strerror(errno));
  }
  return code;
}

// Whether output was lost because its reader has ended, as after `| head -1`.
bool reader_left() {
  pollfd output = {STDOUT_FILENO, POLLOUT, 0};
  return std::ferror(stdout) != 0 && ::poll(&output, 1, 0) == 1 &&
         (output.revents & (POLLERR | POLLHUP)) != 0;
}

// docs/commands.md lists the exit codes.
int exit_code(const std::exception& error) {
  if (dynamic_cast<const ConfigError*>(&error)) return 2;
  if (dynamic_cast<const DataError*>(&error)) return 3;
  if (dynamic_cast<const CheckpointError*>(&error)) return 4;
  if (dynamic_cast<const FormatError*>(&error)) return 4;  // raised when exporting weights
  if (dynamic_cast<const NumericError*>(&error)) return 5;
  if (dynamic_cast<const IoError*>(&error)) return 6;
  if (dynamic_cast<const std::system_error*>(&error)) return 6;  // such as printing to a full disk
  if (dynamic_cast<const LockError*>(&error)) return 7;
  if (dynamic_cast<const std::bad_alloc*>(&error)) return 8;
  return 1;
}

// Prints an error and returns its exit code.
int print_and_code(const std::string& who, const std::exception& error) {
  commands::print_error(who + ": " + error.what() + "\n");
  return exit_code(error);
}

int run_and_report(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const OutOfMemory& error) {
    std::fprintf(stderr, "xgrad: out of memory: %s\n", error.what());
    return 8;
  } catch (const std::bad_alloc&) {
    std::fputs("xgrad: out of memory\n", stderr);
    return 8;
  } catch (const std::exception& error) {
    // The signal SIGPIPE ends most other programs here, also without a message.
    if (exit_code(error) == 6 && reader_left()) return 128 + SIGPIPE;
    return print_and_code("xgrad", error);
  }
}

// The work of rank 0, if there are several ranks.
int lead(StartedRanks& ranks, int argc, char** argv) {
  const int code = run_and_report(argc, argv);
  if (others_at_work()) {
    std::fflush(nullptr);
    ranks.end_all(code);
  }
  send_end();
  return code;
}

// The work of another rank. If it fails, rank 0 usually fails for the same reason and ends all
// ranks. Its message says more, so this rank waits before it prints its own.
int take_part(StartedRanks& ranks) {
  try {
    follow();
    return 0;
  } catch (const std::exception& error) {
    std::this_thread::sleep_for(std::chrono::seconds(2));
    const int code =
        print_and_code(fmt::format("xgrad: rank {} of {}", ranks.rank(), ranks.size()), error);
    ranks.end_all(code);
    return code;
  }
}

// If a standard stream is closed, the next opened file would get its descriptor, and output would
// be written into that file. This opens /dev/null in its place, in the wrong direction, so that
// reading and writing still fail with the same errors.
void hold_closed_streams() {
  for (const int stream : {0, 1, 2}) {
    if (::fcntl(stream, F_GETFD) == -1) ::open("/dev/null", stream == 0 ? O_WRONLY : O_RDONLY);
  }
}

// Data sets are read from mapped files. If the kernel cannot read a mapped file, it sends SIGBUS.
void end_by_bus_error(int) {
  constexpr std::string_view kMessage =
      "xgrad: a mapped file can no longer be read: its disk has failed, or the file became "
      "shorter; "
      "the copy of a data set is in TMPDIR or /var/tmp\n";
  [[maybe_unused]] const ssize_t n = ::write(STDERR_FILENO, kMessage.data(), kMessage.size());
  ::_exit(6);
}

}  // namespace

int command_line(int argc, char** argv) {
  hold_closed_streams();
  // LAPACK draws one picture for a report; OpenBLAS would start a thread for each core for that,
  // in each run of a sweep.
  ::setenv("OPENBLAS_NUM_THREADS", "1", /*overwrite=*/0);
  std::signal(SIGBUS, end_by_bus_error);
  // A closed pipe or a file size limit should make the write fail, as a full disk does.
  for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_IGN);
  try {
    const std::unique_ptr<StartedRanks> started = start_ranks();
    if (!started) return run_and_report(argc, argv);
    set_ranks(started.get());
    return started->rank() == 0 ? lead(*started, argc, argv) : take_part(*started);
  } catch (const std::exception& error) {
    return print_and_code("xgrad", error);
  }
}

}  // namespace xgrad
