#include <algorithm>

#include <xgrad/data/synthetic/uniform_tokens.hpp>

namespace xgrad {

static Tokens solve(const Tokens& ids) {
  Tokens counts;
  for (std::int32_t id : ids) {
    counts.push_back(std::int32_t(std::count(ids.begin(), ids.end(), id) - 1));
  }
  return counts;
}

// Class c means the count c + 1, because each token occurs at least once.
TaskEntry histogram_task() {
  const auto describe = [](const Options& options) {
    Synthetic task = uniform_tokens(options, solve);
    task.shape.classes = task.shape.max_length;
    task.shape.class_names = numbered(task.shape.classes, "", 1);
    return task;
  };
  return synthetic_task(
      {.name = "histogram",
       .summary = "For each token, say how often it occurs in the sequence.",
       .options = uniform_options(),
       .needs = "No positions, one layer, and a width of at least the number of symbols.",
       .theory = "solvable: one layer suffices if the width is at least the number of symbols "
                 "(Yehudai et al. 2024, arXiv:2407.15160)",
       .source = "Weiss, Goldberg and Yahav 2021, arXiv:2106.06981; Behrens, Biggio and Zdeborova "
                 "2024, arXiv:2407.11542"},
      describe);
}

}  // namespace xgrad
