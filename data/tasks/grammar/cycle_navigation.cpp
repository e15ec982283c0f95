#include <xgrad/data/synthetic/uniform_tokens.hpp>

namespace xgrad {

static constexpr std::int32_t kPlaces = 5;

static Tokens solve(const Tokens& ids) {
  constexpr std::int32_t kSteps[] = {0, 1, kPlaces - 1};  // stay, go on, go back
  std::int32_t place = 0;
  for (const std::int32_t id : ids) place = (place + kSteps[id]) % kPlaces;
  return {place};
}

TaskEntry cycle_navigation_task() {
  const auto describe = [](const Options& options) {
    Synthetic task = one_target(uniform_tokens(options, solve, 3));
    task.shape.token_names = {"stay", "on", "back"};
    task.shape.classes = kPlaces;
    return task;
  };
  return synthetic_task({.name = "cycle_navigation",
                         .summary = "Follow steps on a circle of five places; say where they end.",
                         .options = length_options(),
                         .needs = "No positions and two layers; training finds the rule for short "
                                  "lengths only, since it is a sum modulo 5.",
                         .theory = "not learnable: sums modulo 5 over a sequence; encoders learn "
                                   "shortcuts for the lengths seen in training (Liu et al. 2023, "
                                   "arXiv:2210.10749), and fail beyond them (Deletang et al. 2023)",
                         .source = "Deletang et al. 2023, arXiv:2207.02098"},
                        describe);
}

}  // namespace xgrad
