#include <algorithm>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/nearest.hpp>
#include <xgrad/data/excerpt.hpp>
#include <xgrad/data/task.hpp>

namespace xgrad {

using Entry = TaskEntry();
// Each in the file of its family.
Entry addition_task, anomaly_task, ar2_task, bucket_sort_task, cmu_task, copy_task,
    cycle_navigation_task, distinct_task, double_histogram_task, dyck_task, dyck_nearest_task,
    even_pairs_task, fashion_mnist_task, files_task, first_task, histogram_task, hmm_task,
    index_lookup_task, induction_task, kjv_task, kth_element_task, languages_task, listops_task,
    majority_task, markov_task, mean_of_marked_task, modular_addition_task, most_frequent_task,
    motif_task, mqar_task, needle_task, negation_task, neighbours_task, next_value_task,
    number_words_task, odds_first_task, parity_task, reverse_task, rotate_task, scan_task,
    selective_copy_task, set_membership_task, shapes_task, shuffle_dyck_task, sort_task,
    sort_by_frequency_task, sparse_parity_task, stack_manipulation_task, tomita_task,
    translation_task, wordnet_task;

namespace {

// Lets `make` complete and check its options.
TaskEntry checked(TaskEntry entry) {
  entry.make = [table = entry.options, make = std::move(entry.make)](const Options& given,
                                                                     std::uint64_t seed) {
    return make(complete(table, given), seed);
  };
  return entry;
}

template <class... Entries>
std::vector<TaskEntry> all_of(const Entries&... entries) {
  return {checked(entries())...};
}

std::vector<TaskEntry>& table() {
  static std::vector<TaskEntry> entries = all_of(
      addition_task, anomaly_task, ar2_task, bucket_sort_task, cmu_task, copy_task,
      cycle_navigation_task, distinct_task, double_histogram_task, dyck_task, dyck_nearest_task,
      even_pairs_task, fashion_mnist_task, files_task, first_task, histogram_task, hmm_task,
      index_lookup_task, induction_task, kjv_task, kth_element_task, languages_task, listops_task,
      majority_task, markov_task, mean_of_marked_task, modular_addition_task, most_frequent_task,
      motif_task, mqar_task, needle_task, negation_task, neighbours_task, next_value_task,
      number_words_task, odds_first_task, parity_task, reverse_task, rotate_task, scan_task,
      selective_copy_task, set_membership_task, shapes_task, shuffle_dyck_task, sort_task,
      sort_by_frequency_task, sparse_parity_task, stack_manipulation_task, tomita_task,
      translation_task, wordnet_task);
  return entries;
}

// The first task whose name does not come before this one.
auto place_of(const std::string& name) {
  return std::ranges::lower_bound(table(), name, {}, &TaskEntry::name);
}

}  // namespace

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
