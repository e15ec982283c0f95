#include <xgrad/train/sweep/processes.hpp>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include <xgrad/autograd/check.hpp>

namespace xgrad {

Processes::~Processes() {
  signal(SIGTERM);
  for (const auto& [pid, name] : running_) {
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) continue;
  }
}

void Processes::start(const std::string& name, const std::string& program,
                      std::vector<std::string> words, const detail::Descriptor& log) {
  words.insert(words.begin(), "xgrad");
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&files, log, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, program.empty() ? "/proc/self/exe" : program.c_str(),
                                  &files, nullptr, pointers.data(), environ);
  ::posix_spawn_file_actions_destroy(&files);
  check<IoError>(error == 0, name, ": cannot start a run: ", std::strerror(error));
  running_[pid] = name;
}

void Processes::signal(int number) const {
  for (const auto& [pid, name] : running_) ::kill(pid, number);
}

std::optional<std::pair<std::string, int>> Processes::reap() {
  for (const auto& [pid, name] : running_) {
    int status = 0;
    const pid_t ended = ::waitpid(pid, &status, WNOHANG);
    check<IoError>(ended >= 0, "cannot wait for a run: ", std::strerror(errno));
    if (ended == 0) continue;
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    const std::pair<std::string, int> result(name, code);
    running_.erase(pid);
    return result;
  }
  return std::nullopt;
}

}  // namespace xgrad
