#include <xgrad/data/rules/baseline.hpp>

#include <algorithm>
#include <cmath>

#include <xgrad/data/batch.hpp>
#include <xgrad/data/rules/rules.hpp>
#include <xgrad/data/rules/window_counts.hpp>
#include <xgrad/data/unknown.hpp>

namespace xgrad {

namespace {

double accuracy(const Dataset& split, const Guess& guess) {
  return measure_rule("", split, guess).accuracy;
}

Baseline measure_answers(const Dataset& train, const Dataset& test, std::size_t answers,
                         std::size_t most) {
  std::vector<double> lead(answers);  // number of "yes" minus number of "no"
  for (std::size_t i = 0; i < std::min(most, train.size()); ++i) {
    const std::vector<float> values = train.get(0, i).values;
    for (std::size_t k = 0; k < values.size(); ++k) {
      if (!std::isnan(values[k])) lead[k % answers] += values[k] > 0.5f ? 1 : -1;
    }
  }
  const GuessAll guess = [&](const Example& example) {
    std::vector<std::int32_t> guesses;
    for (std::size_t k = 0; k < example.values.size(); ++k) {
      guesses.push_back(lead[k % answers] > 0);
    }
    return guesses;
  };
  return {.majority = measure_rule("", test, guess).accuracy};
}

}  // namespace

Baseline measure_baseline(const Task& task, std::size_t most) {
  const TaskShape shape = task.shape();
  if (shape.target == TargetKind::numbers) return {};
  const auto train = whole_training_set(task), test = task.dataset(Split::test);
  if (shape.target == TargetKind::binary)
    return measure_answers(*train, *test, shape.classes, most);
  const bool per_token = shape.input == InputKind::tokens && shape.output == OutputKind::tokens;
  // In a language model, a window would hold the answer.
  const std::size_t widest = per_token && shape.next == NextToken::none ? kBaselineRadius : 0;
  const WindowCounts counts(*train, most, widest);
  const std::optional<std::int32_t> majority = counts.most_frequent();
  if (!majority) return {};
  const auto accuracy_of = [&](const Dataset& split, std::size_t radius) {
    return accuracy(split, [&](const Example& example, std::size_t at) {
      return counts.guess(example, at, radius);
    });
  };
  Baseline baseline{accuracy(*test, [&](const Example&, std::size_t) { return *majority; })};
  if (per_token) baseline.own_token = accuracy_of(*test, 0);
  if (widest == 0) return baseline;
  const auto validation = task.dataset(Split::validation);
  std::vector<double> accuracies;
  for (std::size_t r = 0; r <= widest; ++r) accuracies.push_back(accuracy_of(*validation, r));
  const auto best =
      std::max_element(accuracies.begin(), accuracies.end());  // the smallest of these
  baseline.window = accuracy_of(*test, std::size_t(best - accuracies.begin()));
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
