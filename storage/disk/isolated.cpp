#include <xgrad/storage/disk/isolated.hpp>

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/parallel.hpp>
#include <xgrad/storage/disk/input_file.hpp>

namespace xgrad {

namespace {

using Clock = std::chrono::steady_clock;

// Signals that are for the parent alone.
constexpr int kOfParent[] = {SIGINT, SIGTERM, SIGUSR1};

// First byte of the answer.
constexpr char kDone = '+', kRefused = '-', kUnconfined = '?';

// Error texts. They blame the file for what the process did, but not for what was done to the
// process.
std::string malicious(const std::string& what) {
  return "is damaged or malicious: the process that read it " + what;
}
std::string unread(const std::string& what) {
  return "could not be read: the process that read it " + what;
}
std::string took_longer(rlim_t seconds) {
  return unread("took longer than " + std::to_string(seconds) + " s");
}

#if defined(__x86_64__)
constexpr std::uint32_t kMachine = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kMachine = AUDIT_ARCH_AARCH64;
#else
constexpr std::uint32_t kMachine = 0;  // unknown machine: no system call is allowed
#endif

// Calls needed to compute, allocate memory, answer and exit.
constexpr std::uint32_t kAllowed[] = {
    SYS_brk,          SYS_mmap,     SYS_munmap,    SYS_mremap,        SYS_mprotect,
    SYS_madvise,      SYS_futex,    SYS_getrandom, SYS_clock_gettime, SYS_sched_yield,
    SYS_rt_sigreturn, SYS_write,    SYS_exit,      SYS_exit_group,
#ifdef __SANITIZE_ADDRESS__  // calls of the sanitizers
    SYS_sigaltstack,  SYS_pipe2,    SYS_close,     SYS_getpid,        SYS_gettid,
    SYS_ioctl,
#ifdef __x86_64__
    SYS_pipe,         SYS_readlink,
#endif
#endif
};

/// Makes every other system call kill the process from here on. Write is allowed, so there must be
/// no inherited descriptor that could be a way out.
bool filter_calls() {
  std::vector<sock_filter> program = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kMachine, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
  };
  for (const std::uint32_t call : kAllowed) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  }
  // libhdf5 checks that no file has the name of the image in memory: let open fail harmlessly.
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1));
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES));
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

/// Returns `wanted` or the current limit if that is lower, because we must not raise limits.
rlim_t at_most(int what, rlim_t wanted) {
  rlimit present{};
  return ::getrlimit(what, &present) == 0 ? std::min(wanted, present.rlim_cur) : wanted;
}

/// Sets a soft limit, and a hard limit that is `more` above it.
bool limit(int what, rlim_t wanted, rlim_t more = 0) {
  rlimit limits{};
  if (::getrlimit(what, &limits) != 0) return false;
  limits.rlim_cur = std::min(wanted, limits.rlim_cur);
  limits.rlim_max = std::min(limits.rlim_cur + more, limits.rlim_max);
  return ::setrlimit(what, &limits) == 0;
}

/// The size of the address space in bytes; 0 if unknown.
std::size_t address_space() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * std::size_t(::sysconf(_SC_PAGESIZE));
}

bool close_all_but(int fd) {
  const auto kept = static_cast<unsigned>(fd);
  return (kept == 0 || ::syscall(SYS_close_range, 0U, kept - 1, 0U) == 0) &&
         ::syscall(SYS_close_range, kept + 1, ~0U, 0U) == 0;
}

void answer(int pipe, char kind, std::string_view text) try {
  detail::write_all(pipe, {&kind, 1}, "");
  detail::write_all(pipe, text, "");
} catch (const IoError&) {  // the parent has closed the pipe
}

[[noreturn]] void be_child(int pipe, const std::function<std::string()>& work,
                           const IsolatedLimits& limits) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  detail::forget_threads();
  // libzip asks for local time, for which libc would otherwise open a file.
  ::setenv("TZ", "UTC0", 1);
  ::tzset();
  for (const int signal : kOfParent) ::signal(signal, SIG_IGN);
  for (const int signal : {SIGPIPE, SIGXCPU, SIGSEGV, SIGBUS}) ::signal(signal, SIG_DFL);
  const std::size_t present = address_space();
  const bool scarce = at_most(RLIMIT_AS, present + limits.memory) < present + limits.memory;
  // SIGXCPU kills at the time limit. The hard limit, which sends SIGKILL, is a second later, so a
  // SIGKILL before that comes from elsewhere.
  const bool limited = present > 0 && close_all_but(pipe) &&
                       limit(RLIMIT_AS, present + limits.memory) &&
                       limit(RLIMIT_CPU, limits.seconds, 1) && limit(RLIMIT_CORE, 0);
  if (!limited || !filter_calls()) {
    answer(pipe, kUnconfined, std::strerror(errno));
    ::_exit(1);
  }
  try {
    answer(pipe, kDone, work());
  } catch (const std::bad_alloc&) {
    answer(pipe, kRefused,
           scarce ? "needs more memory than the limit of this process leaves"
                  : "needs more memory than reading it should");
  } catch (const std::length_error&) {
    answer(pipe, kRefused, "needs more memory than there is");
  } catch (const std::exception& error) {
    answer(pipe, kRefused, error.what());
  }
  ::_exit(0);
}

/// Reads the pipe until it is closed. Returns why the answer is incomplete, or an empty string.
std::string listen(int pipe, const IsolatedLimits& limits, std::string& text) {
  const auto late = Clock::now() + std::chrono::seconds(limits.seconds);
  std::vector<char> chunk(1 << 16);
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(late - Clock::now()).count();
    if (left <= 0) return took_longer(limits.seconds);
    const bool excessive = text.size() > limits.result + 1;
    if (excessive) return malicious("gave more than the file can hold");
    pollfd ready{pipe, POLLIN, 0};
    if (::poll(&ready, 1, int(left)) <= 0) continue;  // timeout or a signal
    const ssize_t n = ::read(pipe, chunk.data(), chunk.size());
    if (n == 0) return "";
    if (n > 0) text.append(chunk.data(), std::size_t(n));
  }
}

/// Explains why a child that ended like this gave no answer.
std::string why(int status, const rusage& used, const IsolatedLimits& limits) {
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  if (signal == SIGSYS) {
    return malicious("made a system call that reading does not need");
  }
  // If this process's own limit leaves no extra second, the kernel sends SIGKILL instead of
  // SIGXCPU. It counts whole ticks, so on a busy machine `used` is well below the limit.
  const rlim_t seconds = at_most(RLIMIT_CPU, limits.seconds);
  const bool abrupt = at_most(RLIMIT_CPU, limits.seconds + 1) == seconds;
  const auto of = [](const timeval& time) { return double(time.tv_sec) + 1e-6 * time.tv_usec; };
  const bool long_at_work = of(used.ru_utime) + of(used.ru_stime) > 0.5 * double(seconds);
  if (signal == SIGXCPU || (signal == SIGKILL && abrupt && long_at_work)) {
    return took_longer(seconds);
  }
  if (signal == SIGKILL) {
    return unread("was killed (SIGKILL) while it held " + std::to_string(used.ru_maxrss / 1024) +
                  " MiB; the system does so when memory runs out");
  }
  return malicious(signal == 0 ? "gave no answer" : std::string("crashed: ") + ::strsignal(signal));
}

std::string isolating_program;

/// Starts the program with the bytes as its standard input and the pipe as its output. Signals of
/// the parent stay blocked in it.
pid_t start_program(const NamedWork& named, const IsolatedLimits& limits, int pipe) {
  std::vector<std::string> words = {"xgrad", kIsolatedWork, named.name};
  for (const std::size_t number : {limits.memory, std::size_t(limits.seconds), named.bytes.size()})
    words.push_back(std::to_string(number));
  words.insert(words.end(), named.words.begin(), named.words.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);

  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_adddup2(&files, named.file, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, pipe, STDOUT_FILENO);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t blocked;
  ::sigemptyset(&blocked);
  for (const int signal : kOfParent) ::sigaddset(&blocked, signal);
  ::posix_spawnattr_setsigmask(&attributes, &blocked);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t child = -1;
  const int error = ::posix_spawn(&child, isolating_program.c_str(), &files, &attributes,
                                  pointers.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  errno = error;
  return error == 0 ? child : -1;
}

/// Starts a child with `start`, which takes the pipe for its answer, and reads the answer.
Isolated answer_of(const std::function<pid_t(int pipe)>& start, const IsolatedLimits& limits) {
  int ends[2];
  const bool made = ::pipe2(ends, O_CLOEXEC) == 0;
  check<IoError>(made, "cannot make a pipe: ", std::strerror(errno));
  const detail::Descriptor here(ends[0]);
  detail::Descriptor there(ends[1]);
  const pid_t child = start(there);
  check<IoError>(child > 0, "cannot start a process: ", std::strerror(errno));
  there.close("the pipe");
  std::string text;
  std::string fault = listen(here, limits, text);
  if (!fault.empty()) ::kill(child, SIGKILL);
  int status = 0;
  rusage used{};
  detail::uninterrupted([&] { return ::wait4(child, &status, 0, &used); });
  const char kind = text.empty() ? '\0' : text.front();
  if (!text.empty()) text.erase(0, 1);
  check<IoError>(kind != kUnconfined, "cannot confine a process that reads a file: ", text);
  const bool answered = fault.empty() && WIFEXITED(status) && (kind == kDone || kind == kRefused);
  if (answered) return {kind == kDone, std::move(text)};
  return {false, fault.empty() ? why(status, used, limits) : std::move(fault)};
}

}  // namespace

Isolated run_isolated(const std::function<std::string()>& work, const IsolatedLimits& limits) {
  return answer_of(
      [&](int pipe) {
        const pid_t child = ::fork();
        if (child == 0) be_child(pipe, work, limits);
        return child;
      },
      limits);
}

Isolated run_isolated(const NamedWork& named, DoNamedWork& work, const IsolatedLimits& limits) {
  if (isolating_program.empty()) return run_isolated([&] { return work(named); }, limits);
  return answer_of([&](int pipe) { return start_program(named, limits, pipe); }, limits);
}

void set_isolating_program(const std::string& path) {
  isolating_program = path;
}

void do_isolated_work(const std::vector<std::string>& arguments, DoNamedWork& work) {
  check<Error>(arguments.size() >= 4, kIsolatedWork, ": is for xgrad itself");
  const IsolatedLimits limits{.memory = std::stoull(arguments[1]),
                              .seconds = unsigned(std::stoul(arguments[2]))};
  const Mapping mapping(STDIN_FILENO, std::stoull(arguments[3]), "the file");
  const NamedWork named{
      arguments[0], mapping.bytes(), STDIN_FILENO, {arguments.begin() + 4, arguments.end()}};
  be_child(
      STDOUT_FILENO, [&] { return work(named); }, limits);
}

}  // namespace xgrad
