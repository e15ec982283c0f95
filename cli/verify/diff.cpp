#include <fmt/format.h>

#include <xgrad/cli/command.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>

namespace xgrad::commands {

Command diff_command() {
  const auto runs = std::make_shared<std::pair<std::string, std::string>>();
  return Command(
      "diff", "Show what differs in two runs or checkpoints",
      {{"first", kRun, &runs->first, kRequired}, {"second", kRun, &runs->second, kRequired}},
      [runs] {
        const FoundRun a = find_run(runs->first), b = find_run(runs->second);
        const std::vector<std::string> lines = differences(a.checkpoint, b.checkpoint);
        fmt::print("- {}\n+ {}\n", a.file, b.file);
        for (const std::string& line : lines) fmt::print("{}\n", line);
        if (lines.empty()) fmt::print("the same to the bit\n");
        return lines.empty() ? 0 : 1;
      });
}

}  // namespace xgrad::commands
