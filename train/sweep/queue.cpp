#include <xgrad/train/sweep/queue.hpp>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/option_text.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/run/signals.hpp>
#include <xgrad/train/sweep/claims.hpp>

namespace xgrad {

namespace {

bool exists(const std::string& path) {
  return std::filesystem::exists(status_of(path));
}

// Starts a program with its output in `file`, that of `log`. The process's copies of the file hold
// the lock on it, too.
pid_t start(const std::string& program, std::vector<std::string> words,
            const detail::Descriptor& file, const std::string& log) {
  words.insert(words.begin(), "xgrad");
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&files, file, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, program.c_str(), &files, nullptr, pointers.data(), environ);
  ::posix_spawn_file_actions_destroy(&files);
  check<IoError>(error == 0, log, ": cannot start a run: ", std::strerror(error));
  return pid;
}

}  // namespace

std::optional<RunHistory> history_of(const std::string& directory) {
  if (!exists(directory + "/config.toml")) return std::nullopt;
  return read_run(directory);
}

SweepQueue::SweepQueue(const SweepOptions& options, std::vector<SweptRun> runs)
    : options_(options) {
  for (SweptRun& run : runs) {
    const Config wanted = load_config(options.config, overrides_of(options, run.setting));
    if (const auto history = history_of(run.directory)) {
      const auto other = differences(history->config, wanted);
      check<ConfigError>(other.empty(), run.directory, " is a run of another config (",
                         other.empty() ? "" : to_string(other[0]), "); choose another --out");
    }
    if (!is_done(run)) left_.push_back(std::move(run));
  }
}

SweepQueue::~SweepQueue() {
  for (const auto& [pid, run] : running_) ::kill(pid, SIGTERM);
  for (const auto& [pid, run] : running_) {
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) continue;
  }
}

int SweepQueue::run(std::size_t jobs, std::size_t threads, const std::function<void()>& watch) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kPause = std::chrono::milliseconds(5);
  constexpr auto kWait = std::chrono::milliseconds(500);  // for runs of other workers
  const Signals signals;
  int signal = 0;
  Clock::time_point ask = Clock::now();
  while (!running_.empty() || (signal == 0 && !left_.empty())) {
    if (signal == 0) {
      signal = signals.stop() != 0                ? signals.stop()
               : options_.stop && options_.stop() ? SIGTERM
                                                  : 0;
      for (const auto& [pid, run] : running_) {
        if (signal != 0) ::kill(pid, signal);
      }
    }
    if (signal == 0 && running_.size() < jobs && Clock::now() >= ask) {
      if (start_next(threads)) continue;
      ask = Clock::now() + kWait;
    }
    if (reap()) continue;
    watch();
    std::this_thread::sleep_for(kPause);
  }
  return signal;
}

bool SweepQueue::is_done(const SweptRun& run) const {
  const auto history = history_of(run.directory);
  if (!history) return false;
  if (options_.worker && history->state == RunHistory::State::failed) return true;
  return history->state == RunHistory::State::finished;
}

// Starts the next run that nobody does. Returns false if there is none now.
bool SweepQueue::start_next(std::size_t threads) {
  for (std::size_t i = 0; i < left_.size();) {
    const std::string directory = left_[i].directory, log = directory + ".log";
    const auto file = claim(log);
    check<LockError>(file || options_.worker, directory,
                     " is done by another sweep at this moment; --worker shares the runs with it");
    if (!file) {
      ++i;
      continue;
    }
    const SweptRun run = std::move(left_[i]);
    left_.erase(left_.begin() + std::ptrdiff_t(i));
    if (is_done(run)) continue;  // by another worker, since the last look
    if (::ftruncate(*file, 0) != 0) detail::fail_io(log, "cannot empty");
    std::vector<std::string> words = {"resume", directory, "--quiet"};
    if (!exists(directory + "/config.toml")) {
      words = overrides_of(options_, run.setting);
      words.insert(words.begin(), {"train", options_.config, "--quiet"});
      words.push_back("run.dir=" + to_literal(directory));
      words.push_back("train.threads=" + std::to_string(threads));
    }
    const std::string program = options_.program.empty() ? "/proc/self/exe" : options_.program;
    running_[start(program, words, *file, log)] = directory;
    return true;
  }
  return false;
}

// Takes note of a process that has ended. Returns false if there is none.
bool SweepQueue::reap() {
  for (const auto& [pid, directory] : running_) {
    int status = 0;
    const pid_t ended = ::waitpid(pid, &status, WNOHANG);
    check<IoError>(ended >= 0, "cannot wait for a run: ", std::strerror(errno));
    if (ended == 0) continue;
    ended_.push_back({directory, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status)});
    running_.erase(pid);
    return true;
  }
  return false;
}

}  // namespace xgrad
