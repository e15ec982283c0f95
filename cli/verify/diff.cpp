#include <fmt/format.h>

#include <xgrad/cli/command.hpp>
#include <xgrad/train/checkpoint/difference.hpp>
#include <xgrad/train/checkpoint/find_run.hpp>

namespace xgrad::commands {

int diff(const std::string& first, const std::string& second) {
  const RunSource a = find_run(first), b = find_run(second);
  const std::vector<std::string> lines = differences(a.checkpoint, b.checkpoint);
  fmt::print("- {}\n+ {}\n", a.file, b.file);
  for (const std::string& line : lines) fmt::print("{}\n", line);
  if (lines.empty()) fmt::print("the same to the bit\n");
  return lines.empty() ? 0 : 1;
}

}  // namespace xgrad::commands
