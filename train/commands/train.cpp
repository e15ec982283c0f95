#include <xgrad/train/commands.hpp>
#include <xgrad/train/commands/outcome.hpp>

namespace xgrad::commands {

int train(const TrainArguments& arguments) {
  const Config config = load_config(arguments.config, arguments.overrides);
  return report(start_run(config, arguments.config, {arguments.quiet}), arguments.json);
}

}  // namespace xgrad::commands
