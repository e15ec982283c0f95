// Work that may go wrong, as reading a file that anyone may have made by a library that was not
// written for that, in a process of its own.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace xgrad {

/// What isolated work may take, unless limits of this process are lower.
struct IsolatedLimits {
  std::size_t memory = 0;  ///< bytes that the work may take besides what the process has already
  std::size_t result = 0;  ///< bytes that it may return
  unsigned seconds = 60;   ///< of processor time, and of the clock
};

/// What the work returned, or why it did not.
struct Isolated {
  bool done = false;  ///< whether it returned
  std::string text;   ///< what it returned, or why it did not
};

/// Runs `work` in a child, which has a copy of our memory, one pipe and no other open file. It can
/// compute and take memory; it can open nothing, and whatever else it asks of the system ends it.
/// So does a limit, and so does a crash, without harm to us. What `work` throws is its text.
///
/// Where there is no result, the text says whether the work is to blame ("is damaged, or made to
/// deceive": it crashed, or did what it may not) or not ("could not be read": it took too long, or
/// was killed, as by a system that runs out of memory). What needs more memory than `limits.memory`
/// says so.
///
/// Throws IoError when there can be no such process. Not while other threads are at work.
Isolated run_isolated(const std::function<std::string()>& work, const IsolatedLimits& limits);

}  // namespace xgrad
