// Runs untrusted work, such as libhdf5 on an untrusted file, in a confined child process.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace xgrad {

/// Limits of isolated work. Lower limits of this process take precedence.
struct IsolatedLimits {
  std::size_t memory = 0;  ///< bytes of memory on top of what the process has
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
  std::string text;   ///< the result of the work, or why it failed
};

/// Runs `work` in a child process with a copy of this process's memory, one pipe and no other open
/// file. The child can compute, allocate memory and write its result; opening a file fails, and any
/// system call that these do not need kills it.
///
/// On failure, the text is the message of the exception of `work`, or says that the work needs too
/// much memory. Other texts continue a sentence that begins with the name of the file that the work
/// reads. If the work crashed, made a forbidden call or returned too much, the file "is damaged or
/// malicious". If the work took too long or was killed, the file "could not be read".
///
/// Throws IoError when the child process cannot be started or confined. Requires: no other thread
/// is working.
Isolated run_isolated(const std::function<std::string()>& work, const IsolatedLimits& limits);

/// Work that has a name, so that this program can ask another program to do it.
struct NamedWork {
  std::string name;                     ///< name of the work, which the other program knows
  std::string_view bytes;               ///< what the work reads: the first bytes of `file`, mapped
  int file;                             ///< descriptor of an open file
  std::vector<std::string> words = {};  ///< other arguments of the work
};
/// A function that does named work. It may know several names.
using DoNamedWork = std::string(const NamedWork& named);

/// run_isolated() for named work. If set_isolating_program() has set a program, the program does
/// the work, and other threads may be working meanwhile. Without a program, this process forks.
/// Then no other thread may be working: the child could wait forever for a lock that another thread
/// held.
Isolated run_isolated(const NamedWork& named, DoNamedWork& work, const IsolatedLimits& limits);

/// Sets the path of the program that does named work: `xgrad`. Empty: this process forks.
void set_isolating_program(const std::string& path);

/// The argument that tells the program to do named work.
inline constexpr const char* kIsolatedWork = "--isolated-work";

/// Call this in the program that does named work. Confines the process, does the work on the bytes
/// of standard input, writes the answer to standard output and ends the process. `arguments` are
/// the arguments after kIsolatedWork. Requires: no other thread is working.
[[noreturn]] void do_isolated_work(const std::vector<std::string>& arguments, DoNamedWork& work);

}  // namespace xgrad
