#include <xgrad/cli/command_line.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <thread>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/kernels/cpu.hpp>
#include <xgrad/autograd/memory/out_of_memory.hpp>
#include <xgrad/autograd/parallel.hpp>
#include <xgrad/cli/command.hpp>
#include <xgrad/cli/outcome.hpp>
#include <xgrad/cli/start_ranks.hpp>
#include <xgrad/storage/disk/isolated.hpp>
#include <xgrad/train/run/rank_jobs.hpp>
#include <xgrad/train/weights/foreign.hpp>

namespace commands = xgrad::commands;

std::vector<commands::Command> commands::all_commands() {
  return {train_command(),         resume_command(),    check_command(),      gradcheck_command(),
          summary_command(),       attention_command(), patch_command(),      report_command(),
          profile_command(),       lr_find_command(),   sweep_command(),      compare_command(),
          eval_command(),          predict_command(),   generate_command(),   inspect_command(),
          export_command(),        import_command(),    construct_command(),  verify_command(),
          verify_resume_command(), diff_command(),      replay_command(),     config_command(),
          tasks_command(),         info_command(),      completion_command(), man_command()};
}

namespace {

int run(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == xgrad::kIsolatedWork) {
    xgrad::do_isolated_work({argv + 2, argv + argc}, xgrad::do_foreign_work);
  }
  const std::vector<commands::Command> all = commands::all_commands();
  const auto parsed = commands::parse(all, argc, argv);
  int code = 0;
  if (const auto* command = std::get_if<const commands::Command*>(&parsed)) {
    xgrad::cpu();  // refuses a wrong XGRAD_CPU early
    if (!(*command)->on_all_ranks) commands::tell_others_wait((*command)->name);
    code = (*command)->run();
  } else {
    code = std::get<int>(parsed);
  }
  if (const std::string shortage = xgrad::thread_shortage(); !shortage.empty()) {
    std::fprintf(stderr, "xgrad: warning: ran on %s\n", shortage.c_str());
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    throw xgrad::IoError(std::string("cannot write to standard output: ") + std::strerror(errno));
  }
  return code;
}

int run_and_report(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const xgrad::OutOfMemory& error) {
    std::fprintf(stderr, "xgrad: out of memory: %s\n", error.what());
    return 8;
  } catch (const std::bad_alloc&) {
    std::fputs("xgrad: out of memory\n", stderr);
    return 8;
  } catch (const std::exception& error) {
    commands::print_error(std::string("xgrad: ") + error.what() + "\n");
    return commands::exit_code(error);
  }
}

// The work of rank 0 among several.
int lead(xgrad::StartedRanks& ranks, int argc, char** argv) {
  const int code = run_and_report(argc, argv);
  if (xgrad::others_at_work()) {
    std::fflush(nullptr);
    ranks.end_all(code);
  }
  xgrad::send_end();
  return code;
}

// The work of another rank. If it fails, rank 0 usually fails for the same reason and ends all
// ranks. Its message says more, so this rank waits before it prints its own.
int take_part(xgrad::StartedRanks& ranks) {
  try {
    xgrad::follow();
    return 0;
  } catch (const std::exception& error) {
    std::this_thread::sleep_for(std::chrono::seconds(2));
    commands::print_error("xgrad: rank " + std::to_string(ranks.rank()) + " of " +
                          std::to_string(ranks.size()) + ": " + error.what() + "\n");
    const int code = commands::exit_code(error);
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

int xgrad::command_line(int argc, char** argv) {
  hold_closed_streams();
  // LAPACK draws one picture for a report; OpenBLAS would start a thread for each core for that,
  // in each run of a sweep.
  ::setenv("OPENBLAS_NUM_THREADS", "1", /*overwrite=*/0);
  std::signal(SIGBUS, end_by_bus_error);
  // A closed pipe or a file size limit should make the write fail, as a full disk does.
  for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_IGN);
  try {
    const std::unique_ptr<xgrad::StartedRanks> started = xgrad::start_ranks();
    if (!started) return run_and_report(argc, argv);
    xgrad::set_ranks(started.get());
    return started->rank() == 0 ? lead(*started, argc, argv) : take_part(*started);
  } catch (const std::exception& error) {
    commands::print_error(std::string("xgrad: ") + error.what() + "\n");
    return commands::exit_code(error);
  }
}
