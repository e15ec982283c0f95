#include <xgrad/data/rules.hpp>

#include <algorithm>
#include <cmath>

#include <xgrad/data/batch.hpp>
#include <xgrad/data/window_counts.hpp>

namespace xgrad {

Rule measure_rule(const std::string& name, const Dataset& test, const Guess& guess) {
  double targets = 0, correct = 0, exact = 0;
  for (std::size_t i = 0; i < test.size(); ++i) {
    const Example example = test.get(0, i);
    bool all = true;
    for (std::size_t k = 0; k < example.targets.size(); ++k) {
      if (example.targets[k] == kIgnore) continue;
      const bool hit = guess(example, k) == example.targets[k];
      targets += 1;
      correct += hit;
      all = all && hit;
    }
    exact += all;
  }
  return {name, correct / targets, exact / double(test.size())};
}

namespace {

/// log P(class) and log P(token | class), from counts with `added`.
struct Bayes {
  Bayes(const std::vector<double>& joint, const std::vector<double>& prior, std::size_t vocabulary,
        double added)
      : classes(prior.size()), score(joint.size()), base(prior) {
    for (std::size_t c = 0; c < classes; ++c) {
      double sum = 0;
      for (std::size_t v = 0; v < vocabulary; ++v) sum += joint[v * classes + c] + added;
      for (std::size_t v = 0; v < vocabulary; ++v) {
        score[v * classes + c] = std::log((joint[v * classes + c] + added) / sum);
      }
      base[c] = prior[c] > 0 ? std::log(prior[c]) : -HUGE_VAL;
    }
  }

  std::int32_t guess(const Example& example) const {
    std::vector<double> sum = base;
    for (const std::int32_t id : example.ids) {
      for (std::size_t c = 0; c < classes; ++c) sum[c] += score[std::size_t(id) * classes + c];
    }
    return std::int32_t(std::max_element(sum.begin(), sum.end()) - sum.begin());
  }

  std::size_t classes;
  std::vector<double> score, base;
};

}  // namespace

Rule window_rule(const std::string& name, const Dataset& train, const Dataset& test,
                 std::size_t radius) {
  const WindowCounts counts(train, train.size(), radius);
  return measure_rule(name, test, [&](const Example& example, std::size_t at) {
    return counts.guess(example, at, radius);
  });
}

Rule naive_bayes(const Dataset& train, const Dataset& test, const TaskShape& shape) {
  std::vector<double> joint(shape.vocabulary * shape.classes), prior(shape.classes);
  for (std::size_t i = 0; i < train.size(); ++i) {
    const Example example = train.get(0, i);
    const auto c = std::size_t(example.targets[0]);
    prior[c] += 1;
    for (const std::int32_t id : example.ids) joint[std::size_t(id) * shape.classes + c] += 1;
  }
  Rule best;
  for (const double added : {1.0, 0.1, 0.01}) {
    const Bayes bayes(joint, prior, shape.vocabulary, added);
    const Rule rule =
        measure_rule("naive Bayes of the tokens", test,
                     [&](const Example& example, std::size_t) { return bayes.guess(example); });
    if (best.name.empty() || rule.accuracy > best.accuracy) best = rule;
  }
  return best;
}

}  // namespace xgrad
