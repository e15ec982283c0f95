#include <algorithm>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/nearest.hpp>
#include <xgrad/data/task.hpp>
#include <xgrad/text/excerpt.hpp>

namespace xgrad {

// Defined in the file of each family of tasks, or of a task that belongs to no family.
extern const std::vector<TaskEntry> kArithmeticTasks, kAutomataTasks, kBracketTasks, kCountingTasks,
    kGraphTasks, kLookupTasks, kMarkovTasks, kOrderTasks, kSentenceTasks, kSignalTasks;
TaskEntry cmu_task(), fashion_mnist_task(), files_task(), kjv_task(), languages_task(),
    linear_regression_task(), scan_task(), shapes_task(), wordnet_task();

// Lets `make` complete and check its options.
static TaskEntry checked(TaskEntry entry) {
  entry.make = [table = entry.options, make = std::move(entry.make)](const Options& given,
                                                                     std::uint64_t seed) {
    return make(complete(table, given), seed);
  };
  return entry;
}

static std::vector<TaskEntry>& table() {
  static std::vector<TaskEntry> entries = [] {
    std::vector<TaskEntry> all = {cmu_task(),  fashion_mnist_task(), files_task(),
                                  kjv_task(),  languages_task(),     linear_regression_task(),
                                  scan_task(), shapes_task(),        wordnet_task()};
    for (const auto* family :
         {&kArithmeticTasks, &kAutomataTasks, &kBracketTasks, &kCountingTasks, &kGraphTasks,
          &kLookupTasks, &kMarkovTasks, &kOrderTasks, &kSentenceTasks, &kSignalTasks}) {
      all.insert(all.end(), family->begin(), family->end());
    }
    std::ranges::transform(all, all.begin(), checked);
    std::ranges::sort(all, {}, &TaskEntry::name);
    return all;
  }();
  return entries;
}

// The first task whose name does not come before `name` in alphabetical order.
static auto place_of(const std::string& name) {
  return std::ranges::lower_bound(table(), name, {}, &TaskEntry::name);
}

const std::vector<TaskEntry>& tasks() {
  return table();
}

const TaskEntry& find_task(const std::string& name) {
  const auto found = place_of(name);
  if (found != table().end() && found->name == name) return *found;
  std::vector<std::string> names;
  for (const TaskEntry& entry : table()) names.push_back(entry.name);
  detail::fail<ConfigError>("there is no task ", excerpt(name), "; there are ",
                            joined(nearest_first(name, names)));
}

void add_task(TaskEntry entry) {
  const auto place = place_of(entry.name);
  check<ConfigError>(place == table().end() || place->name != entry.name, "there is a task \"",
                     entry.name, "\" already");
  table().insert(place, checked(std::move(entry)));
}

}  // namespace xgrad
