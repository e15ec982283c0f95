#include <xgrad/cli/command.hpp>
#include <xgrad/cli/outcome.hpp>

namespace xgrad::commands {

namespace {

struct Arguments {
  std::string run;  // a run directory or one of its checkpoints
  std::vector<std::string> overrides, allow_change;
  bool quiet = false, json = false;
};

}  // namespace

Command resume_command() {
  const auto a = std::make_shared<Arguments>();
  return Command(
      "resume", "Continue a run, bit for bit as if it had never stopped",
      {{"run", kRun, &a->run, kRequired},
       {"overrides", kOverrides, &a->overrides},
       {"--allow-change",
        "a key that may change; may be repeated",
        &a->allow_change,
        {.value = "KEY"}},
       {"-q,--quiet", kQuiet, &a->quiet},
       {"--json", kJson, &a->json}},
      [a] {
        return report(resume_run(a->run, a->overrides, a->allow_change, {a->quiet}), a->json);
      },
      /*on_all_ranks=*/true);
}

}  // namespace xgrad::commands
