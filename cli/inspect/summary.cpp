#include <xgrad/train/inspect/summary.hpp>

#include <fmt/format.h>

#include <xgrad/cli/command.hpp>

namespace xgrad::commands {

Command summary_command() {
  const auto a = std::make_shared<ConfigArguments>();
  return Command(
      "summary", "Show a model's modules, shapes and cost",
      {{"config", kConfig, &a->config, kRequired}, {"overrides", kOverrides, &a->overrides}}, [a] {
        fmt::print("{}", to_text(summarize(a->load())));
        return 0;
      });
}

}  // namespace xgrad::commands
