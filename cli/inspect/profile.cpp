#include <xgrad/train/inspect/profile.hpp>

#include <fmt/format.h>

#include <xgrad/cli/command.hpp>
#include <xgrad/storage/disk/publish.hpp>

namespace xgrad::commands {

namespace {

struct Arguments : ConfigArguments {
  std::size_t steps = 20;
  std::string trace;
};

int profile(const Arguments& arguments) {
  if (!arguments.trace.empty()) check_new(arguments.trace);
  const Profile result = xgrad::profile(arguments.load(), arguments.steps);
  fmt::print("{}", to_text(result));
  if (!arguments.trace.empty()) publish_file(arguments.trace, result.trace);
  return 0;
}

}  // namespace

Command profile_command() {
  const auto a = std::make_shared<Arguments>();
  return Command("profile", "Show where the time of a training step goes",
                 {{"config", kConfig, &a->config, kRequired},
                  {"overrides", kOverrides, &a->overrides},
                  {"--steps", "number of steps to measure", &a->steps, {.range = {{1, 1000000}}}},
                  {"--trace", "new file for a Chrome trace of one step", &a->trace, kNewPath}},
                 [a] { return profile(*a); });
}

}  // namespace xgrad::commands
