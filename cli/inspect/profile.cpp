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

}  // namespace

Command profile_command() {
  const auto a = std::make_shared<Arguments>();
  return Command("profile", "Show where the time of a training step goes",
                 {{"config", kConfig, &a->config, kRequired},
                  {"overrides", kOverrides, &a->overrides},
                  {"--steps", "number of steps to measure", &a->steps, {.range = {{1, 1000000}}}},
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
