#include <xgrad/train/inspect/summary.hpp>

#include <fmt/format.h>

#include <xgrad/cli/command.hpp>

namespace xgrad::commands {

int summary(const SummaryArguments& arguments) {
  fmt::print("{}", to_text(summarize(load_config(arguments.config, arguments.overrides))));
  return 0;
}

}  // namespace xgrad::commands
