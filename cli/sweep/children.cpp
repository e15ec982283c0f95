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
  ::posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, child.log.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK, 0666);
  ::posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  pid_t pid = -1;
  const int error =
      ::posix_spawn(&pid, "/proc/self/exe", &files, nullptr, pointers.data(), environ);
  ::posix_spawn_file_actions_destroy(&files);
  check<IoError>(error == 0, child.log, ": cannot start a run: ", std::strerror(error));
  return pid;
}

// Maps process ids to indices of children. The destructor ends children that an exception leaves
// running.
struct Running : std::map<pid_t, std::size_t> {
  ~Running() {
    for (const auto& [pid, number] : *this) ::kill(pid, SIGTERM);
    for (const auto& [pid, number] : *this) {
      while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) continue;
    }
  }
};

}  // namespace

ChildrenEnd run_children(const std::vector<Child>& children, std::size_t jobs,
                         const WatchChildren& watch) {
  constexpr auto kPause = std::chrono::milliseconds(5);
  const Signals signals;
  ChildrenEnd end{std::vector<int>(children.size(), 0)};
  Running running;
  std::vector<std::size_t> ended;
  for (std::size_t next = 0; next < children.size() || !running.empty();) {
    if (end.signal == 0 && signals.stop() != 0) {
      end.signal = signals.stop();
      for (const auto& [pid, number] : running) ::kill(pid, end.signal);
    }
    if (end.signal != 0) next = children.size();
    if (next < children.size() && running.size() < jobs) {
      running[start(children[next])] = next;
      ++next;
      continue;
    }
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, WNOHANG);
    check<IoError>(pid != -1 || running.empty(), "cannot wait for a run: ", std::strerror(errno));
    const auto found = running.find(pid);
    if (found == running.end()) {
      watch(ended, running.size());
      std::this_thread::sleep_for(kPause);
      continue;
    }
    end.codes[found->second] = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    ended.push_back(found->second);
    running.erase(found);
  }
  return end;
}

}  // namespace xgrad::commands
