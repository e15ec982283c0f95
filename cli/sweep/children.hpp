// Runs this program several times at once.
#pragma once

#include <string>
#include <vector>

namespace xgrad::commands {

struct Child {
  std::vector<std::string> words;  ///< of the command, without the program's name
  std::string log;                 ///< the file that gets what it prints
};

struct ChildrenEnd {
  std::vector<int> codes;  ///< exit codes, 128 + n after signal n
  int signal = 0;          ///< that asked to stop; 0: none
};

/// Runs all, at most `jobs` at a time. SIGINT and SIGTERM are passed on to those that run, and no
/// more are started. Throws IoError when one cannot be started, after those that run
/// have stopped.
ChildrenEnd run_children(const std::vector<Child>& children, std::size_t jobs);

}  // namespace xgrad::commands
