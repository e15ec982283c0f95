#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/option_text.hpp>
#include <xgrad/storage/disk/folder.hpp>
#include <xgrad/storage/disk/publish.hpp>
#include <xgrad/train/checkpoint/find_run.hpp>
#include <xgrad/train/run/signals.hpp>
#include <xgrad/train/sweep/plan.hpp>

namespace xgrad {

namespace {

using detail::Descriptor;

bool has_begun(const std::string& directory) {
  return std::filesystem::exists(status_of(directory + "/config.toml"));
}

// Opens the log of a run and locks it. Returns nothing if another process has locked it. The lock
// is free again when this descriptor and the copies that a child inherits are closed, so it ends
// with the run, however that ends.
std::optional<Descriptor> claim(const std::string& log) {
  const auto [parent, name] = folder_and_name(log);
  const Folder folder(parent);
  Descriptor file = folder.open(name, O_WRONLY | O_CREAT);
  folder.check_single(name);
  if (!file.lock(log)) return std::nullopt;
  return file;
}

// Starts a program with its output in `file`, that of `log`. The process's copies of the file hold
// the lock on it, too.
pid_t start(const std::string& program, std::vector<std::string> words, const Descriptor& file,
            const std::string& log) {
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

std::string local_locks_option(std::string_view mounts, std::string_view device) {
  static constexpr std::array kLocal = {"nolock", "localflock", "local_lock=all",
                                        "local_lock=flock"};
  std::istringstream lines{std::string(mounts)};
  // A line is "ID PARENT MAJOR:MINOR ROOT PLACE OPTIONS [TAGS...] - TYPE SOURCE OPTIONS".
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    const std::vector<std::string> all(std::istream_iterator<std::string>(words), {});
    if (all.size() < 3 || all[2] != device) continue;
    std::istringstream options(all.back());
    for (std::string option; std::getline(options, option, ',');) {
      if (std::find(kLocal.begin(), kLocal.end(), option) != kLocal.end()) return option;
    }
  }
  return "";
}

void check_claims_work(const std::string& folder) {
  constexpr const char* kAdvice =
      ", so two workers could train the same run; put --out on another file system";
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) detail::fail_io(folder, "cannot read");
  std::ifstream mounts("/proc/self/mountinfo");
  const std::string option = local_locks_option(
      std::string(std::istreambuf_iterator<char>(mounts), {}),
      std::to_string(major(status.st_dev)) + ":" + std::to_string(minor(status.st_dev)));
  check<IoError>(option.empty(), folder, ": its file system is mounted with ", option,
                 ": locks are not seen by other machines", kAdvice);

  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  const Folder place(folder);
  const std::string name = std::string(".locks-") + host + "-" + std::to_string(::getpid()),
                    path = place.path_of(name);
  const Descriptor first = place.open(name, O_WRONLY | O_CREAT),
                   second = place.open(name, O_WRONLY);
  place.remove(name);
  check<IoError>(first.lock(path) && !second.lock(path), folder,
                 ": locks of files have no effect here", kAdvice);
}

std::optional<RunHistory> history_of(const std::string& directory) {
  return has_begun(directory) ? std::optional(read_run(directory)) : std::nullopt;
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
  return history->state == RunHistory::State::finished ||
         (options_.worker && history->state == RunHistory::State::failed);
}

bool SweepQueue::start_next(std::size_t threads) {
  for (auto next = left_.begin(); next != left_.end();) {
    const std::string directory = next->directory, log = directory + ".log";
    const auto file = claim(log);
    check<LockError>(file || options_.worker, directory,
                     " is done by another sweep at this moment; --worker shares the runs with it");
    if (!file) {
      ++next;
      continue;
    }
    const SweptRun run = std::move(*next);
    next = left_.erase(next);
    if (is_done(run)) continue;  // by another worker, since the last look
    if (::ftruncate(*file, 0) != 0) detail::fail_io(log, "cannot empty");
    std::vector<std::string> words = {"resume", directory, "--quiet"};
    if (!has_begun(directory)) {
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
