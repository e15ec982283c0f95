#include <xgrad/data/rules/baseline.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include <xgrad/data/batch.hpp>

namespace xgrad {

namespace {

/// The ids around a token as bytes. Positions outside the sequence count as a special token.
std::string window(const Example& example, std::size_t at, std::size_t radius) {
  std::string key;
  for (std::size_t i = at; i <= at + 2 * radius; ++i) {
    const bool inside = i >= radius && i - radius < example.ids.size();
    const std::int32_t id = inside ? example.ids[i - radius] : -1;
    key.append(reinterpret_cast<const char*>(&id), sizeof id);
  }
  return key;
}

/// Predicts the class of a token from the tokens around it, by counting.
class WindowCounts {
 public:
  /// Counts classes for each window of radius 0 to `radius` around a token, in the first `most`
  /// examples.
  WindowCounts(const Dataset& train, std::size_t most, std::size_t radius) {
    std::unordered_map<std::string, std::map<std::int32_t, std::size_t>> seen;
    for (std::size_t i = 0; i < std::min(most, train.size()); ++i) {
      const Example example = train.get(0, i);
      for (std::size_t k = 0; k < example.targets.size(); ++k) {
        const std::int32_t target = example.targets[k];
        if (target == kIgnore) continue;
        ++seen[""][target];
        for (std::size_t r = 0; r <= radius; ++r) ++seen[window(example, k, r)][target];
      }
    }
    for (const auto& [key, counts] : seen) {
      const auto second = [](const auto& count) { return count.second; };
      most_frequent_[key] = std::ranges::max_element(counts, {}, second)->first;
    }
  }

  /// Whether no target counts.
  bool empty() const { return most_frequent_.empty(); }
  /// Returns the most frequent class of all.
  std::int32_t guess() const { return most_frequent_.at(""); }
  /// Returns the most frequent class for each token with `radius` tokens on each side. If that
  /// window was not seen in training, tries smaller ones, then takes the most frequent of all.
  /// Ties go to the smallest class. Requires: a class for each token, and !empty().
  std::vector<std::int32_t> guess(const Example& example, std::size_t radius) const {
    std::vector<std::int32_t> guesses(example.targets.size(), guess());
    for (std::size_t at = 0; at < guesses.size(); ++at) {
      auto found = most_frequent_.end();
      for (std::size_t r = example.targets[at] == kIgnore ? 0 : radius + 1;
           r-- > 0 && found == most_frequent_.end();) {
        found = most_frequent_.find(window(example, at, r));
      }
      if (found != most_frequent_.end()) guesses[at] = found->second;
    }
    return guesses;
  }

 private:
  std::unordered_map<std::string, std::int32_t> most_frequent_;  // by window; "": of all tokens
};

Rule measure_windows(const std::string& name, const WindowCounts& counts, const Dataset& split,
                     std::size_t radius) {
  return measure_rule(name, split,
                      [&](const Example& example) { return counts.guess(example, radius); });
}

/// Calls f(component, value) for each number of the first `most` examples, unless it is missing.
template <class F>
void for_each_value(const Dataset& split, std::size_t most, std::size_t components, const F& f) {
  for (std::size_t i = 0; i < std::min(most, split.size()); ++i) {
    const std::vector<float> values = split.get(0, i).values;
    for (std::size_t k = 0; k < values.size(); ++k) {
      if (!std::isnan(values[k])) f(k % components, values[k]);
    }
  }
}

Baseline measure_answers(const Dataset& train, const Dataset& test, std::size_t answers,
                         std::size_t most) {
  std::vector<double> lead(answers);  // number of "yes" minus number of "no"
  for_each_value(train, most, answers,
                 [&](std::size_t k, float value) { lead[k] += value > 0.5f ? 1 : -1; });
  const Guess guess = [&](const Example& example) {
    std::vector<std::int32_t> guesses(example.values.size());
    for (std::size_t k = 0; k < guesses.size(); ++k) guesses[k] = lead[k % answers] > 0;
    return guesses;
  };
  return {.majority = measure_rule("", test, guess).accuracy};
}

}  // namespace

Rule measure_rule(const std::string& name, const Dataset& test, const Guess& guess) {
  double targets = 0, correct = 0, exact = 0;
  for (std::size_t i = 0; i < test.size(); ++i) {
    const Example example = test.get(0, i);
    std::vector<std::int32_t> classes = example.targets;
    for (const float value : example.values) {
      classes.push_back(std::isnan(value) ? kIgnore : value > 0.5f);
    }
    const std::vector<std::int32_t> guesses = guess(example);
    bool all = true;
    for (std::size_t k = 0; k < classes.size(); ++k) {
      if (classes[k] == kIgnore) continue;
      const bool hit = guesses[k] == classes[k];
      targets += 1;
      correct += hit;
      all = all && hit;
    }
    exact += all;
  }
  return {name, correct / targets, exact / double(test.size())};
}

Rule window_rule(const std::string& name, const Dataset& train, const Dataset& test,
                 std::size_t radius) {
  return measure_windows(name, WindowCounts(train, train.size(), radius), test, radius);
}

Baseline measure_baseline(const Task& task, std::size_t most) {
  const TaskShape shape = task.shape();
  if (shape.target == TargetKind::numbers) return {};
  const auto train = task.whole_training_set(), test = task.dataset(Split::test);
  if (shape.target == TargetKind::binary)
    return measure_answers(*train, *test, shape.classes, most);
  const bool per_token = shape.input == InputKind::tokens && shape.output == OutputKind::tokens;
  // In a language model, a window would hold the answer.
  const std::size_t widest = per_token && shape.next == NextToken::none ? kBaselineRadius : 0;
  const WindowCounts counts(*train, most, widest);
  if (counts.empty()) return {};
  const auto majority = [&](const Example& example) {
    return std::vector<std::int32_t>(example.targets.size(), counts.guess());
  };
  Baseline baseline{measure_rule("", *test, majority).accuracy};
  if (per_token) baseline.own_token = measure_windows("", counts, *test, 0).accuracy;
  if (widest == 0) return baseline;
  const auto validation = task.dataset(Split::validation);
  std::vector<double> accuracies;
  for (std::size_t r = 0; r <= widest; ++r) {
    accuracies.push_back(measure_windows("", counts, *validation, r).accuracy);
  }
  const auto best = std::ranges::max_element(accuracies);  // the smallest of equally good radii
  const auto radius = std::size_t(best - accuracies.begin());
  baseline.window = measure_windows("", counts, *test, radius).accuracy;
  return baseline;
}

double best_baseline(const Task& task, const std::vector<Rule>& rules) {
  const Baseline counted = measure_baseline(task);
  double best = std::max(
      {counted.majority.value_or(0), counted.own_token.value_or(0), counted.window.value_or(0)});
  for (const Rule& rule : rules) best = std::max(best, rule.accuracy);
  return best;
}

double measure_variance(const Task& task) {
  const std::size_t components = task.shape().classes, all = std::size_t(-1);
  std::vector<double> sums(components), counts(components);
  double squares = 0, targets = 0;
  for_each_value(*task.dataset(Split::train), all, components, [&](std::size_t c, float value) {
    sums[c] += value;
    counts[c] += 1;
  });
  for_each_value(*task.dataset(Split::test), all, components, [&](std::size_t c, float value) {
    const double d = value - sums[c] / counts[c];
    squares += d * d;
    targets += 1;
  });
  return squares / targets;
}

}  // namespace xgrad
