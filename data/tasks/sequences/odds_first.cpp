#include <xgrad/data/synthetic/uniform_tokens.hpp>
#include <xgrad/data/tasks/entries.hpp>

namespace xgrad {

// x_1 x_3 x_5 ... x_2 x_4 x_6 ..., counted from 1.
TaskEntry odds_first_task() {
  const auto describe = [](const Options& options) {
    Synthetic task = uniform_tokens(options);
    task.solve = [](const Tokens& ids) {
      Tokens result;
      for (const std::size_t first : {0u, 1u}) {
        for (std::size_t i = first; i < ids.size(); i += 2) result.push_back(ids[i]);
      }
      return result;
    };
    return task;
  };
  auto options = uniform_options();
  std::get<std::int64_t>(options.back().fallback) = 2;
  return synthetic_task(
      "odds_first", "Output the tokens at odd places in order, then those at even places.",
      "Positions and one layer with one head; more for several lengths.", options, describe);
}

}  // namespace xgrad
