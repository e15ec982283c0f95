#include <xgrad/data/rules/baseline.hpp>

#include <algorithm>
#include <cmath>
#include <map>

#include <xgrad/data/batch.hpp>
#include <xgrad/data/rules/rules.hpp>
#include <xgrad/data/rules/window_counts.hpp>
#include <xgrad/data/unknown.hpp>

namespace xgrad {

namespace {

bool has_class_for_each_token(const TaskShape& shape) {
  return shape.input == InputKind::tokens && shape.output == OutputKind::tokens;
}

/// Returns nothing if no target counts.
std::optional<std::int32_t> most_frequent_class(const Dataset& train, std::size_t most) {
  std::map<std::int32_t, std::size_t> counts;
  for (std::size_t i = 0; i < std::min(most, train.size()); ++i) {
    for (const std::int32_t target : train.get(0, i).targets) {
      if (target != kIgnore) ++counts[target];
    }
  }
  const auto most_often =
      std::max_element(counts.begin(), counts.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return most_often == counts.end() ? std::nullopt : std::optional(most_often->first);
}

double accuracy(const Dataset& split, const Guess& guess) {
  return measure_rule("", split, guess).accuracy;
}

/// Calls f(answer, yes) for every binary target of the first `most` examples.
template <class F>
void for_each_answer(const Dataset& split, std::size_t answers, std::size_t most, const F& f) {
  for (std::size_t i = 0; i < std::min(most, split.size()); ++i) {
    const std::vector<float> values = split.get(0, i).values;
    for (std::size_t k = 0; k < values.size(); ++k) {
      if (!std::isnan(values[k])) f(k % answers, values[k] > 0.5f);
    }
  }
}

Baseline measure_answers(const Dataset& train, const Dataset& test, std::size_t answers,
                         std::size_t most) {
  std::vector<double> lead(answers);  // number of "yes" minus number of "no"
  for_each_answer(train, answers, most,
                  [&](std::size_t answer, bool yes) { lead[answer] += yes ? 1 : -1; });
  double targets = 0, right = 0;
  for_each_answer(test, answers, test.size(), [&](std::size_t answer, bool yes) {
    targets += 1;
    right += yes == (lead[answer] > 0);
  });
  return {.majority = right / targets};
}

}  // namespace

Baseline measure_baseline(const Task& task, std::size_t most) {
  const TaskShape shape = task.shape();
  if (shape.target == TargetKind::numbers) return {};
  const auto train = whole_training_set(task), test = task.dataset(Split::test);
  if (shape.target == TargetKind::binary)
    return measure_answers(*train, *test, shape.classes, most);
  const std::optional<std::int32_t> majority = most_frequent_class(*train, most);
  if (!majority) return {};
  Baseline baseline{accuracy(*test, [&](const Example&, std::size_t) { return *majority; })};
  if (!has_class_for_each_token(shape)) return baseline;

  if (shape.next != NextToken::none) {  // a window would hold the answer
    const WindowCounts alone(*train, most, 0);
    baseline.own_token = accuracy(
        *test, [&](const Example& example, std::size_t at) { return alone.guess(example, at, 0); });
    return baseline;
  }
  const WindowCounts counts(*train, most, kBaselineRadius);
  const auto accuracy_of = [&](const Dataset& split, std::size_t radius) {
    return accuracy(split, [&](const Example& example, std::size_t at) {
      return counts.guess(example, at, radius);
    });
  };
  const auto validation = task.dataset(Split::validation);
  std::size_t best = 0;
  double best_accuracy = accuracy_of(*validation, 0);
  for (std::size_t radius = 1; radius <= kBaselineRadius; ++radius) {
    const double found = accuracy_of(*validation, radius);
    if (found <= best_accuracy) continue;
    best = radius;
    best_accuracy = found;
  }
  baseline.own_token = accuracy_of(*test, 0);
  baseline.window = accuracy_of(*test, best);
  return baseline;
}

double best_baseline(const Task& task, const std::vector<Rule>& rules) {
  const Baseline counted = measure_baseline(task);
  double best = 0;
  for (const auto& share : {counted.majority, counted.own_token, counted.window}) {
    best = std::max(best, share.value_or(0));
  }
  for (const Rule& rule : rules) best = std::max(best, rule.accuracy);
  return best;
}

double measure_variance(const Task& task) {
  const std::size_t components = task.shape().classes;
  std::vector<double> sums(components), counts(components);
  double squares = 0, targets = 0;
  for (const Split split : {Split::train, Split::test}) {
    const auto dataset = task.dataset(split);
    for (std::size_t i = 0; i < dataset->size(); ++i) {
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
