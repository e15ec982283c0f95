#include <xgrad/data/rules/rules.hpp>

#include <cmath>
#include <iterator>

#include <xgrad/data/batch.hpp>
#include <xgrad/data/rules/naive_bayes.hpp>
#include <xgrad/data/rules/window_counts.hpp>
#include <xgrad/data/unknown.hpp>
#include <xgrad/data/watch_progress.hpp>

namespace xgrad {

namespace {

constexpr double kSmoothings[] = {1, 0.1, 0.01, 0.001};

/// Progress of a rule.
struct Progress {
  std::string rule;
  std::size_t done, rows;
};

/// A split that reports each row that is read.
class Watched final : public Dataset {
 public:
  Watched(const Dataset& rows, Progress& progress) : rows_(rows), progress_(progress) {}
  std::size_t size() const override { return rows_.size(); }
  Example get(std::uint64_t epoch, std::size_t index) const override {
    WatchProgress::tell(progress_.rule, ++progress_.done, progress_.rows);
    return rows_.get(epoch, index);
  }

 private:
  const Dataset& rows_;
  Progress& progress_;
};

/// Returns the targets of an example, with binary answers as 1 or 0.
std::vector<std::int32_t> classes_of(const Example& example) {
  std::vector<std::int32_t> classes = example.targets;
  for (const float value : example.values) {
    classes.push_back(std::isnan(value) ? kIgnore : value > 0.5f);
  }
  return classes;
}

}  // namespace

Rule measure_rule(const std::string& name, const Dataset& test, const GuessAll& guess) {
  double targets = 0, correct = 0, exact = 0;
  for (std::size_t i = 0; i < test.size(); ++i) {
    const Example example = test.get(0, i);
    const std::vector<std::int32_t> classes = classes_of(example), guesses = guess(example);
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

Rule measure_rule(const std::string& name, const Dataset& test, const Guess& guess) {
  return measure_rule(name, test, [&](const Example& example) {
    std::vector<std::int32_t> guesses(example.targets.size());
    for (std::size_t k = 0; k < guesses.size(); ++k) {
      if (example.targets[k] != kIgnore) guesses[k] = guess(example, k);
    }
    return guesses;
  });
}

Rule window_rule(const std::string& name, const Dataset& train, const Dataset& test,
                 std::size_t radius) {
  const WindowCounts counts(train, train.size(), radius);
  return measure_rule(name, test, [&](const Example& example, std::size_t at) {
    return counts.guess(example, at, radius);
  });
}

Rule naive_bayes(const Task& task, std::size_t longest, GramLimits limits) {
  std::string name = "naive Bayes of ";
  name += longest == 1 ? "tokens" : "1- to " + std::to_string(longest) + "-grams";
  const auto train = whole_training_set(task), validation = task.dataset(Split::validation),
             test = task.dataset(Split::test);
  const std::size_t passes = std::size(kSmoothings), trained = train->size();
  Progress progress{name, 0, trained + passes * validation->size() + test->size()};
  const NaiveBayes bayes(Watched(*train, progress), task.shape(), longest, limits);
  progress.done = trained;  // counting may have stopped early
  name = name_with_rows(name, bayes.rows(), trained);
  const auto measured = [&](const Dataset& split, double smoothing) {
    return measure_rule(name, Watched(split, progress),
                        [&](const Example& example) { return bayes.guess(example, smoothing); });
  };
  double best = 0, best_accuracy = -1;
  for (const double smoothing : kSmoothings) {
    const double accuracy = measured(*validation, smoothing).accuracy;
    if (accuracy <= best_accuracy) continue;
    best = smoothing;
    best_accuracy = accuracy;
  }
  return measured(*test, best);
}

}  // namespace xgrad
