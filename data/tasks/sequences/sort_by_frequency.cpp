#include <algorithm>

#include <xgrad/data/synthetic/uniform_tokens.hpp>
#include <xgrad/data/tasks/entries.hpp>

namespace xgrad {

namespace {

Tokens solve(const Tokens& ids, std::int32_t symbols) {
  Tokens result, counts(std::size_t(symbols) + 1);
  for (const std::int32_t id : ids) {
    if (counts[std::size_t(id)]++ == 0) result.push_back(id);
  }
  std::stable_sort(result.begin(), result.end(), [&](std::int32_t a, std::int32_t b) {
    return counts[std::size_t(a)] > counts[std::size_t(b)];
  });
  result.resize(ids.size(), symbols);
  return result;
}

}  // namespace

// As in RASP (Weiss et al. 2021): the outputs that are left over are "-".
TaskEntry sort_by_frequency_task() {
  const auto describe = [](const Options& options) {
    Synthetic task = uniform_tokens(options);
    const auto symbols = std::int32_t(task.shape.classes);
    for (std::int32_t i = 0; i < symbols; ++i) task.shape.class_names.push_back(std::to_string(i));
    task.shape.class_names.push_back("-");
    task.shape.classes += 1;
    task.solve = [symbols](const Tokens& ids) { return solve(ids, symbols); };
    return task;
  };
  auto options = uniform_options();
  options.back().max = 65536;  // every class has a name
  return synthetic_task(
      "sort_by_frequency",
      "Output each different token once, the most frequent first; ties in order of appearance.",
      "Positions and three layers: to count, to compare the counts, and to place the tokens.",
      options, describe);
}

}  // namespace xgrad
