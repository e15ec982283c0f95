#include <xgrad/data/files/rules.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include <xgrad/data/batch.hpp>

namespace xgrad {

namespace {

using Counts = std::map<std::int32_t, std::size_t>;  // by class
/// By the ids of a window, as bytes.
using Windows = std::unordered_map<std::string, Counts>;

std::string window(const Example& example, std::size_t at, std::size_t radius) {
  std::string key;
  for (std::size_t i = at; i <= at + 2 * radius; ++i) {
    const bool inside = i >= radius && i - radius < example.ids.size();
    const std::int32_t id = inside ? example.ids[i - radius] : -1;
    key.append(reinterpret_cast<const char*>(&id), sizeof id);
  }
  return key;
}

std::int32_t most_frequent(const Counts& counts) {
  return std::max_element(counts.begin(), counts.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

/// Shares of targets and of examples for which right(example, place) holds.
template <class Right>
Rule measure(const std::string& name, const Dataset& test, const Right& right) {
  double targets = 0, correct = 0, exact = 0;
  for (std::size_t i = 0; i < test.size(); ++i) {
    const Example example = test.get(0, i);
    bool all = true;
    for (std::size_t k = 0; k < example.targets.size(); ++k) {
      if (example.targets[k] == kIgnore) continue;
      const bool hit = right(example, k);
      targets += 1;
      correct += hit;
      all = all && hit;
    }
    exact += all;
  }
  return {name, correct / targets, exact / double(test.size())};
}

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
  std::vector<Windows> seen(radius + 1);
  Counts all;
  for (std::size_t i = 0; i < train.size(); ++i) {
    const Example example = train.get(0, i);
    for (std::size_t k = 0; k < example.targets.size(); ++k) {
      if (example.targets[k] == kIgnore) continue;
      ++all[example.targets[k]];
      for (std::size_t r = 0; r <= radius; ++r)
        ++seen[r][window(example, k, r)][example.targets[k]];
    }
  }
  return measure(name, test, [&](const Example& example, std::size_t at) {
    for (std::size_t r = radius + 1; r-- > 0;) {
      const auto found = seen[r].find(window(example, at, r));
      if (found != seen[r].end()) return most_frequent(found->second) == example.targets[at];
    }
    return most_frequent(all) == example.targets[at];
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
        measure("naive Bayes of the tokens", test, [&](const Example& example, std::size_t at) {
          return bayes.guess(example) == example.targets[at];
        });
    if (rule.accuracy > best.accuracy) best = rule;
  }
  return best;
}

}  // namespace xgrad
