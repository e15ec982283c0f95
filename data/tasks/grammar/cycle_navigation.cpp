#include <xgrad/data/synthetic/uniform_tokens.hpp>
#include <xgrad/data/tasks/entries.hpp>

namespace xgrad {

namespace {

constexpr std::int32_t kPlaces = 5;
constexpr std::int32_t kSteps[] = {0, 1, kPlaces - 1};  // stay, go on, go back

}  // namespace

TaskEntry cycle_navigation_task() {
  const auto describe = [](const Options& options) {
    Synthetic task = uniform_tokens(options, 3);
    task.shape.output = OutputKind::sequence;
    task.shape.token_names = {"stay", "on", "back"};
    task.shape.classes = kPlaces;
    task.solve = [](const Tokens& ids) {
      std::int32_t place = 0;
      for (const std::int32_t id : ids) place = (place + kSteps[id]) % kPlaces;
      return Tokens{place};
    };
    return task;
  };
  return synthetic_task("cycle_navigation",
                        "Follow steps on a circle of five places; say where they end.",
                        "No positions and two layers; training finds the rule for short lengths "
                        "only, since it is a sum modulo 5.",
                        length_options(), describe);
}

}  // namespace xgrad
