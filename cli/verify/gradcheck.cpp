#include <xgrad/autograd/gradcheck/gradcheck.hpp>

#include <fmt/format.h>

#include <xgrad/cli/command.hpp>
#include <xgrad/train/inspect/gradcheck.hpp>

namespace xgrad::commands {

int gradcheck(const GradcheckArguments& arguments) {
  const GradientReport report = check_model(load_config(arguments.config, arguments.overrides));
  fmt::print("{}", report.table());
  return report.ok() ? 0 : 1;
}

}  // namespace xgrad::commands
