// Lets one process of each machine read files, and the others use its copy.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace xgrad {

/// Processes that use the same data at the same time.
struct Readers {
  std::size_t self = 0;  ///< number of this process
  /// Returns the texts of all processes, in the order of their numbers. Each of them calls it with
  /// its own text.
  std::function<std::vector<std::string>(const std::string& own)> tell;
};

/// Calls `read` in the first process of each machine if there are others on it that find the same
/// files at these paths, and then `use` in the others, with what it returned. Returns whether it
/// called `use` here. Called by all processes.
///
/// Throws what `read` throws, and DataError with its message in the other processes of the machine.
/// If `use` throws IoError, for example because processes are not allowed to share files, returns
/// false.
bool read_once(const Readers& readers, const std::vector<std::string>& files,
               const std::function<std::string()>& read,
               const std::function<void(const std::string& text)>& use);

}  // namespace xgrad
