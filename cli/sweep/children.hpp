// Runs several copies of this program in parallel.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <xgrad/storage/disk/descriptor.hpp>

namespace xgrad::commands {

struct Child {
  std::vector<std::string> words;  ///< command line, without the program's name
  std::string log;                 ///< path of the file for its output
  xgrad::detail::Descriptor file;  ///< that file
};

/// A child that has ended.
struct EndedChild {
  std::string log;  ///< as Child::log
  int code = 0;     ///< exit code; 128 + n after signal n
};

/// The answer to a request for a child to start.
struct NextChild {
  std::optional<Child> child = std::nullopt;  ///< the child, if there is one now
  bool later = false;                         ///< whether there may be one later
};

/// Called while children run, with those that ended and how many run.
using WatchChildren =
    std::function<void(const std::vector<EndedChild>& ended, std::size_t running)>;

struct ChildrenEnd {
  std::vector<EndedChild> ended;
  int signal = 0;  ///< the signal that asked to stop; 0: none
};

/// Runs the children that `next` returns, at most `jobs` at a time, until there are no more. On
/// SIGINT or SIGTERM, passes the signal on to running children and starts no more. If a child
/// cannot be started, or `next` throws, stops the running ones and throws on.
ChildrenEnd run_children(std::size_t jobs, const std::function<NextChild()>& next,
                         const WatchChildren& watch);

}  // namespace xgrad::commands
