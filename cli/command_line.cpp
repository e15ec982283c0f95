#include <xgrad/cli/command_line.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/kernels/cpu.hpp>
#include <xgrad/autograd/memory/out_of_memory.hpp>
#include <xgrad/autograd/parallel.hpp>
#include <xgrad/cli/command.hpp>
#include <xgrad/cli/start_ranks.hpp>
#include <xgrad/data/excerpt.hpp>
#include <xgrad/data/rules/ngram.hpp>
#include <xgrad/storage/disk/isolated.hpp>
#include <xgrad/storage/formats/tensors.hpp>
#include <xgrad/train/logs/metrics_row.hpp>
#include <xgrad/train/run/rank_jobs.hpp>
#include <xgrad/train/run/session.hpp>
#include <xgrad/train/weights/foreign.hpp>

namespace xgrad {

std::vector<commands::Command> commands::all_commands() {
  return {train_command(),   resume_command(),        check_command(),   gradcheck_command(),
          summary_command(), attention_command(),     patch_command(),   report_command(),
          explain_command(), profile_command(),       lr_find_command(), sweep_command(),
          compare_command(), eval_command(),          predict_command(), generate_command(),
          inspect_command(), export_command(),        import_command(),  construct_command(),
          verify_command(),  verify_resume_command(), diff_command(),    replay_command(),
          config_command(),  tasks_command(),         info_command(),    completion_command(),
          man_command()};
}

void commands::print_error(const std::string& message) {
  const auto space = [](unsigned code) { return code == '\n' ? "\n" : " "; };
  std::fputs(replace_controls(message, space).c_str(), stderr);
}

void commands::tell_others_wait(const std::string& command) {
  const std::size_t others = ranks().size() - 1;
  if (others == 0) return;
  print_error(fmt::format("xgrad: {} runs on one process; the other {} wait\n", command, others));
}

std::string commands::summary(const Metrics& metrics) {
  std::string text;
  for (const Figure& figure : metrics.figures()) {
    std::string name = figure.name;
    std::replace(name.begin(), name.end(), '_', ' ');
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name,
                        figure_text(figure.value, figure.standard_error));
  }
  return text;
}

std::string commands::unknown_text(std::size_t unknown, std::size_t tokens) {
  return fmt::format("{} of {} tokens are not in the vocabulary and were read as <unk>", unknown,
                     tokens);
}

int commands::report(const Outcome& outcome, bool json) {
  if (outcome.signal != 0) return 128 + outcome.signal;
  if (json) {
    fmt::print("{}\n", to_json(metrics_row(outcome.result.steps, "test", outcome.result.test)));
    return 0;
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

namespace {

int run(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == kIsolatedWork) {
    do_isolated_work({argv + 2, argv + argc}, do_foreign_work);
    return 0;
  }
  const std::vector<commands::Command> all = commands::all_commands();
  const auto parsed = commands::parse(all, argc, argv);
  int code = 0;
  if (const auto* command = std::get_if<const commands::Command*>(&parsed)) {
    cpu();  // refuses a wrong XGRAD_CPU early
    if (!(*command)->on_all_ranks) commands::tell_others_wait((*command)->name);
    code = (*command)->run();
  } else {
    code = std::get<int>(parsed);
  }
  if (const std::string shortage = thread_shortage(); !shortage.empty()) {
    std::fprintf(stderr, "xgrad: warning: ran on %s\n", shortage.c_str());
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    throw IoError(std::string("cannot write to standard output: ") + std::strerror(errno));
  }
  return code;
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
    return print_and_code("xgrad", error);
  }
}

// The work of rank 0 among several.
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
// be written into that file. So opens /dev/null in its place, in the wrong direction: reading and
// writing still fail with the same errors.
void hold_closed_streams() {
  for (const int stream : {0, 1, 2}) {
    if (::fcntl(stream, F_GETFD) == -1) ::open("/dev/null", stream == 0 ? O_WRONLY : O_RDONLY);
  }
}

// Data sets are read from mapped files. The kernel tells by SIGBUS when it cannot read one.
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
