// Runs several copies of this program in parallel.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace xgrad::commands {

struct Child {
  std::vector<std::string> words;  ///< command line, without the program's name
  std::string log;                 ///< file for its output
};

struct ChildrenEnd {
  std::vector<int> codes;  ///< exit codes, 128 + n after signal n
  int signal = 0;          ///< the signal that asked to stop; 0: none
};

/// Called while children run, with the indices of those that ended and how many run.
using WatchChildren =
    std::function<void(const std::vector<std::size_t>& ended, std::size_t running)>;

/// Runs all children, at most `jobs` at a time. On SIGINT or SIGTERM, passes the signal on to
/// running children and starts no more. If a child cannot be started, stops the running ones and
/// throws IoError.
ChildrenEnd run_children(const std::vector<Child>& children, std::size_t jobs,
                         const WatchChildren& watch);

}  // namespace xgrad::commands
