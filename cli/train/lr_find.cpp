#include <xgrad/train/inspect/trial_runs.hpp>

#include <fmt/format.h>

#include <xgrad/autograd/check.hpp>
#include <xgrad/cli/command.hpp>

namespace xgrad::commands {

namespace {

struct Arguments : ConfigArguments {
  double from = 1e-6, to = 1;
  std::size_t steps = 150;
};

int lr_find(const Arguments& a) {
  xgrad::check<ConfigError>(a.from < a.to, "lr-find: --from ", a.from, " is not below --to ", a.to);
  const auto tried = try_rates(a.load(), a.from, a.to, a.steps);
  fmt::print("{}\nthe loss falls fastest at optim.lr={:.1e}\n", to_text(tried), steepest(tried));
  return 0;
}

}  // namespace

Command lr_find_command() {
  const auto a = std::make_shared<Arguments>();
  return Command(
      "lr-find", "Suggest a learning rate from a short test run",
      {{"config", kConfig, &a->config, kRequired},
       {"overrides", kOverrides, &a->overrides},
       {"--from", "the lowest learning rate", &a->from, kPositive},
       {"--to", "the highest learning rate", &a->to, kPositive},
       {"--steps", "number of steps from --from to --to", &a->steps, {.range = {{20, 1000000}}}}},
      [a] { return lr_find(*a); });
}

}  // namespace xgrad::commands
