// Processes: runs of a program, several at a time.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <xgrad/storage/disk/descriptor.hpp>

namespace xgrad {

/// Processes of the `xgrad` command, each with a name. The destructor ends running processes.
class Processes {
 public:
  Processes() = default;
  ~Processes();
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  /// Starts `program` (empty: this program) with the arguments `words`, and writes its output to
  /// `log`. Throws IoError.
  void start(const std::string& name, const std::string& program, std::vector<std::string> words,
             const detail::Descriptor& log);
  /// Sends a signal to all running processes.
  void signal(int number) const;
  /// Name and exit code of a process that has ended (128 + n after signal n); nothing if no process
  /// has ended. Throws IoError.
  std::optional<std::pair<std::string, int>> reap();
  /// The number of running processes.
  std::size_t size() const { return running_.size(); }

 private:
  std::map<pid_t, std::string> running_;
};

}  // namespace xgrad
