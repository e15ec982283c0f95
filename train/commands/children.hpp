// Runs this program several times at once.
#pragma once

#include <string>
#include <vector>

namespace xgrad::commands {

struct Child {
  std::vector<std::string> words;  ///< of the command, without the program's name
  std::string log;                 ///< the file that gets what it prints
};

/// Runs all, at most `jobs` at a time, and returns their exit codes, 128 + n after signal n. Throws
/// IoError when one cannot be started.
std::vector<int> run_children(const std::vector<Child>& children, std::size_t jobs);

}  // namespace xgrad::commands
