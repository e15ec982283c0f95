#include <xgrad/data/baseline.hpp>

#include <algorithm>
#include <map>

#include <xgrad/data/batch.hpp>

namespace xgrad {

namespace {

constexpr std::size_t kMostExamples = 10000;

using Counts = std::map<std::int32_t, std::size_t>;  // by class

/// Calls f(token, class) for every target that counts; token -1 where the class is the sequence's.
template <class F>
void for_each_target(const Task& task, Split split, const F& f) {
  const bool per_token = task.shape().output == OutputKind::tokens;
  const auto dataset = task.dataset(split);
  for (std::size_t i = 0; i < std::min(kMostExamples, dataset->size()); ++i) {
    const Example example = dataset->get(0, i);
    for (std::size_t k = 0; k < example.targets.size(); ++k) {
      if (example.targets[k] != kIgnore) f(per_token ? example.ids[k] : -1, example.targets[k]);
    }
  }
}

std::int32_t most_frequent(const Counts& counts) {
  return std::max_element(counts.begin(), counts.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

}  // namespace

Baseline measure_baseline(const Task& task) {
  Counts all;
  std::map<std::int32_t, Counts> by_token;
  for_each_target(task, Split::train, [&](std::int32_t token, std::int32_t target) {
    ++all[target];
    ++by_token[token][target];
  });
  const std::int32_t majority = most_frequent(all);
  std::map<std::int32_t, std::int32_t> guess;
  for (const auto& [token, counts] : by_token) guess[token] = most_frequent(counts);

  double targets = 0, majority_right = 0, token_right = 0;
  for_each_target(task, Split::validation, [&](std::int32_t token, std::int32_t target) {
    const auto known = guess.find(token);
    targets += 1;
    majority_right += target == majority;
    token_right += target == (known == guess.end() ? majority : known->second);
  });
  Baseline baseline{majority_right / targets, {}};
  if (task.shape().output == OutputKind::tokens) baseline.own_token = token_right / targets;
  return baseline;
}

}  // namespace xgrad
