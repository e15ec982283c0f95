#include <algorithm>

#include <xgrad/data/synthetic/uniform_tokens.hpp>
#include <xgrad/data/tasks/entries.hpp>

namespace xgrad {

namespace {

// Ascending by id, keeping repeated ids. Equal tokens cannot be told apart, so the answer is
// unique.
Synthetic describe(const Options& options) {
  Synthetic task = uniform_tokens(options);
  task.solve = [](Tokens ids) {
    std::sort(ids.begin(), ids.end());
    return ids;
  };
  return task;
}

constexpr const char* kNeeds = "Positions and two layers: the first counts, the second places.";

}  // namespace

TaskEntry sort_task() {
  return synthetic_task("sort", "Output the tokens in ascending order.", kNeeds, uniform_options(),
                        describe);
}

// The same task with the sizes of Deletang et al. 2023: five symbols, and any length up to 40.
TaskEntry bucket_sort_task() {
  auto options = length_options(40);
  options[1].fallback = std::int64_t(1);
  options.push_back({"symbols", 5, "Number of different tokens.", 1, 1 << 24});
  return synthetic_task("bucket_sort", "Sort sequences of many lengths over few symbols.", kNeeds,
                        options, describe);
}

}  // namespace xgrad
