#include <xgrad/data/baseline.hpp>

#include <algorithm>
#include <cmath>
#include <map>

#include <xgrad/data/batch.hpp>

namespace xgrad {

namespace {

constexpr std::size_t kMostExamples = 10000;

using Counts = std::map<std::int32_t, std::size_t>;  // by class

bool has_own_token(const TaskShape& shape) {
  return shape.input == InputKind::tokens && shape.output == OutputKind::tokens;
}

/// Calls f(token, class) for every target that counts; token -1 where the class is the sequence's.
template <class F>
void for_each_target(const Task& task, Split split, const F& f) {
  const bool per_token = has_own_token(task.shape());
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

/// Calls f(number of the answer, yes) for every yes-or-no target that counts.
template <class F>
void for_each_answer(const Task& task, Split split, const F& f) {
  const std::size_t answers = task.shape().classes;
  const auto dataset = task.dataset(split);
  for (std::size_t i = 0; i < std::min(kMostExamples, dataset->size()); ++i) {
    const std::vector<float> values = dataset->get(0, i).values;
    for (std::size_t k = 0; k < values.size(); ++k) {
      if (!std::isnan(values[k])) f(k % answers, values[k] > 0.5f);
    }
  }
}

Baseline measure_answers(const Task& task) {
  std::vector<double> lead(task.shape().classes);  // of yes over no
  for_each_answer(task, Split::train,
                  [&](std::size_t answer, bool yes) { lead[answer] += yes ? 1 : -1; });
  double targets = 0, right = 0;
  for_each_answer(task, Split::validation, [&](std::size_t answer, bool yes) {
    targets += 1;
    right += yes == (lead[answer] > 0);
  });
  return {right / targets, {}};
}

}  // namespace

Baseline measure_baseline(const Task& task) {
  const TargetKind kind = task.shape().target;
  if (kind == TargetKind::numbers) return {};
  if (kind == TargetKind::binary) return measure_answers(task);
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
  if (has_own_token(task.shape())) baseline.own_token = token_right / targets;
  return baseline;
}

double measure_variance(const Task& task) {
  const std::size_t components = task.shape().classes;
  std::vector<double> sums(components), counts(components);
  double squares = 0, targets = 0;
  for (const Split split : {Split::train, Split::validation}) {
    const auto dataset = task.dataset(split);
    for (std::size_t i = 0; i < std::min(kMostExamples, dataset->size()); ++i) {
      const std::vector<float> values = dataset->get(0, i).values;
      for (std::size_t k = 0; k < values.size(); ++k) {
        if (std::isnan(values[k])) continue;
        const std::size_t c = k % components;
        if (split == Split::train) {
          sums[c] += values[k];
          counts[c] += 1;
        } else {
          const double d = values[k] - sums[c] / counts[c];
          squares += d * d;
          targets += 1;
        }
      }
    }
  }
  return squares / targets;
}

}  // namespace xgrad
