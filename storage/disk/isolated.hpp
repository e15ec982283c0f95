// Runs untrusted work, such as libhdf5 on a stranger's file, in a confined child process.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace xgrad {

/// Limits of isolated work. Lower limits of this process take precedence.
struct IsolatedLimits {
  std::size_t memory = 0;  ///< bytes of memory beyond those that the process has
  std::size_t result = 0;  ///< bytes of the result
  unsigned seconds = 60;   ///< seconds of CPU time, and of wall-clock time
};

/// The time limit in seconds for work on `bytes` bytes: 60, plus one for each 16 MiB.
constexpr unsigned seconds_for(std::size_t bytes) {
  return 60 + unsigned(bytes >> 24);
}

/// The result of isolated work.
struct Isolated {
  bool done = false;  ///< whether the work returned
  std::string text;   ///< what it returned, or why it failed
};

/// Runs `work` in a child process with a copy of our memory, one pipe and no other open file. The
/// child can compute and allocate memory; opening a file fails, and any other system call kills it.
/// Crashes and exceeded limits end the child without harm to us. If `work` throws, the message of
/// the exception is the text.
///
/// On failure, the text says whether the file is to blame. "is damaged, or made to deceive": the
/// work crashed or made a forbidden call. "could not be read": the work took too long or was
/// killed, for example when the system ran out of memory. Work that needs more than limits.memory
/// says so.
///
/// Throws IoError when the child process cannot be started or confined. Requires: no other thread
/// is working.
Isolated run_isolated(const std::function<std::string()>& work, const IsolatedLimits& limits);

}  // namespace xgrad
