// The commands summary and profile, which show what the training of a config costs.
#include <fmt/format.h>

#include <xgrad/cli/command.hpp>
#include <xgrad/storage/disk/publish.hpp>
#include <xgrad/train/inspect/summary.hpp>
#include <xgrad/train/inspect/trial_runs.hpp>

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

Command profile_command() {
  struct Arguments : ConfigArguments {
    std::size_t steps = 20;
    std::string trace;
  };
  const auto a = std::make_shared<Arguments>();
  return Command(
      "profile", "Show where the time of a training step goes",
      {{"config", kConfig, &a->config, kRequired},
       {"overrides", kOverrides, &a->overrides},
       {"--steps", "number of steps to measure", &a->steps, Rules{.range = {{1, 1000000}}}},
       {"--trace", "new file for a Chrome trace of one step", &a->trace, kNewPath}},
      [a] {
        if (!a->trace.empty()) check_new(a->trace);
        const Profile result = profile(a->load(), a->steps);
        fmt::print("{}", to_text(result));
        if (!a->trace.empty()) publish_file(a->trace, result.trace);
        return 0;
      });
}

}  // namespace xgrad::commands
