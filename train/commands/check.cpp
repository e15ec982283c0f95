#include <fmt/format.h>

#include <xgrad/train/commands.hpp>
#include <xgrad/train/commands/outcome.hpp>

namespace xgrad::commands {

int check(const CheckArguments& arguments) {
  bool all_hold = true;
  for (const std::string& path : arguments.configs) {
    const Outcome outcome = start_run(load_config(path, {}), path, {arguments.quiet});
    fmt::print("{}\n", path);
    if (const int code = report(outcome, /*json=*/false); code != 0) return code;
    all_hold = all_hold && outcome.holds();
  }
  return all_hold ? 0 : 1;
}

}  // namespace xgrad::commands
