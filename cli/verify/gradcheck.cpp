#include <xgrad/autograd/gradcheck/gradcheck.hpp>

#include <fmt/format.h>

#include <xgrad/cli/command.hpp>
#include <xgrad/train/inspect/gradcheck.hpp>

namespace xgrad::commands {

Command gradcheck_command() {
  const auto a = std::make_shared<ConfigArguments>();
  return Command(
      "gradcheck", "Check a model's gradients by finite differences",
      {{"config", kConfig, &a->config, kRequired}, {"overrides", kOverrides, &a->overrides}}, [a] {
        const GradientReport report = check_model(load_config(a->config, a->overrides));
        fmt::print("{}", report.table());
        return report.ok() ? 0 : 1;
      });
}

}  // namespace xgrad::commands
