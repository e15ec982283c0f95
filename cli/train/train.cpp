#include <xgrad/cli/command.hpp>
#include <xgrad/cli/outcome.hpp>

namespace xgrad::commands {

int train(const TrainArguments& arguments) {
  const Config config = load_config(arguments.config, arguments.overrides);
  return report(start_run(config, arguments.config, {arguments.quiet}), arguments.json);
}

}  // namespace xgrad::commands
