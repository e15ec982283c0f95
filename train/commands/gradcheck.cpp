#include <xgrad/autograd/gradcheck.hpp>

#include <fmt/format.h>

#include <xgrad/train/commands.hpp>
#include <xgrad/train/gradcheck_model.hpp>

namespace xgrad::commands {

int gradcheck(const GradcheckArguments& arguments) {
  const GradientReport report = check_model(load_config(arguments.config, arguments.overrides));
  fmt::print("{}", report.table());
  return report.ok() ? 0 : 1;
}

}  // namespace xgrad::commands
