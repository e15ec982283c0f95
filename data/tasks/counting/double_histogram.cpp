#include <algorithm>

#include <xgrad/data/synthetic/uniform_tokens.hpp>

namespace xgrad {

static Tokens solve(const Tokens& ids) {
  Tokens sorted = ids, symbols(ids.size() + 1);  // symbols[c]: how many symbols occur c times
  std::sort(sorted.begin(), sorted.end());
  for (auto run = sorted.begin(); run != sorted.end();) {
    const auto end = std::upper_bound(run, sorted.end(), *run);
    ++symbols[std::size_t(end - run)];
    run = end;
  }
  Tokens targets;
  for (const std::int32_t id : ids) {
    const auto [begin, end] = std::equal_range(sorted.begin(), sorted.end(), id);
    targets.push_back(symbols[std::size_t(end - begin)] - 1);
  }
  return targets;
}

// Class c means the number c + 1, because each symbol occurs as often as itself.
TaskEntry double_histogram_task() {
  const auto describe = [](const Options& options) {
    Synthetic task = uniform_tokens(options, solve);
    task.shape.classes = std::min(task.shape.vocabulary, task.shape.max_length);
    task.shape.class_names = numbered(task.shape.classes, "", 1);
    return task;
  };
  return synthetic_task(
      {.name = "double_histogram",
       .summary = "For each token, count the symbols that occur as often as it does.",
       .options = uniform_options(),
       .needs = "No positions and two layers: the first counts tokens, the second counts counts.",
       .theory =
           "needs depth: a count of counts needs the counts of another layer (Weiss et al. 2021)",
       .source = "Weiss, Goldberg and Yahav 2021, Thinking Like Transformers, arXiv:2106.06981"},
      describe);
}

}  // namespace xgrad
