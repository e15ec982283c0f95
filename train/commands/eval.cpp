#include <fmt/format.h>

#include <xgrad/train/commands.hpp>
#include <xgrad/train/commands/model.hpp>
#include <xgrad/train/commands/outcome.hpp>
#include <xgrad/train/metrics_log.hpp>
#include <xgrad/train/trainer.hpp>

namespace xgrad::commands {

int eval(const EvalArguments& arguments) {
  const RunSource source = find_run(arguments.run);
  const Split split = arguments.split == "train"        ? Split::train
                      : arguments.split == "validation" ? Split::validation
                                                        : Split::test;
  const Metrics metrics = with_precision(source.config, [&]<class T>() {
    const LoadedModel<T> loaded(source);
    return evaluate(*loaded.model, *loaded.task->dataset(split), loaded.shape,
                    make_objective(source.config.train, loaded.shape), source.config.train.batch);
  });
  if (arguments.json) {
    fmt::print("{}\n", metrics_row(source.checkpoint.step, arguments.split, metrics));
  } else {
    fmt::print("{} (step {})\n{}  {}\n", source.file, source.checkpoint.step, arguments.split,
               summary(metrics));
  }
  return 0;
}

}  // namespace xgrad::commands
