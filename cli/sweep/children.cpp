#include <xgrad/cli/sweep/children.hpp>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <map>
#include <thread>

#include <xgrad/autograd/check.hpp>
#include <xgrad/train/run/signals.hpp>

namespace xgrad::commands {

namespace {

pid_t start(const Child& child) {
  std::vector<std::string> words{"xgrad"};
  words.insert(words.end(), child.words.begin(), child.words.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);

  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  // The child's copies hold the lock on the file, too.
  ::posix_spawn_file_actions_adddup2(&files, child.file, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  pid_t pid = -1;
  const int error =
      ::posix_spawn(&pid, "/proc/self/exe", &files, nullptr, pointers.data(), environ);
  ::posix_spawn_file_actions_destroy(&files);
  check<IoError>(error == 0, child.log, ": cannot start a run: ", std::strerror(error));
  return pid;
}

// Maps process ids to the logs of children. The destructor ends children that an exception leaves
// running.
struct Running : std::map<pid_t, std::string> {
  ~Running() {
    for (const auto& [pid, log] : *this) ::kill(pid, SIGTERM);
    for (const auto& [pid, log] : *this) {
      while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) continue;
    }
  }
};

}  // namespace

ChildrenEnd run_children(std::size_t jobs, const std::function<NextChild()>& next,
                         const WatchChildren& watch) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kPause = std::chrono::milliseconds(5);
  constexpr auto kWait = std::chrono::milliseconds(500);  // for runs of other workers
  const Signals signals;
  ChildrenEnd end;
  Running running;
  bool more = true;
  for (Clock::time_point ask = Clock::now(); more || !running.empty();) {
    if (end.signal == 0 && signals.stop() != 0) {
      end.signal = signals.stop();
      for (const auto& [pid, log] : running) ::kill(pid, end.signal);
    }
    more = more && end.signal == 0;
    if (more && running.size() < jobs && Clock::now() >= ask) {
      const NextChild found = next();
      if (found.child) {
        running[start(*found.child)] = found.child->log;
        continue;
      }
      more = found.later;
      ask = Clock::now() + kWait;
    }
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, WNOHANG);
    check<IoError>(pid != -1 || running.empty(), "cannot wait for a run: ", std::strerror(errno));
    const auto found = running.find(pid);
    if (found == running.end()) {
      watch(end.ended, running.size());
      std::this_thread::sleep_for(kPause);
      continue;
    }
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    end.ended.push_back({found->second, code});
    running.erase(found);
  }
  return end;
}

}  // namespace xgrad::commands
