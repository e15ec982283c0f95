#include <xgrad/data/rules/naive_bayes.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>

#include <xgrad/autograd/kernels/portable_math.hpp>
#include <xgrad/autograd/random.hpp>
#include <xgrad/data/batch.hpp>
#include <xgrad/data/rules/baseline.hpp>
#include <xgrad/data/unknown.hpp>
#include <xgrad/data/watch_progress.hpp>

namespace xgrad {

static constexpr std::uint32_t kNone = GramCounts::kNone;

// Calls visit(number) for each n-gram of an example. child(gram, token) returns the number of the
// n-gram with one more token, or kNone.
template <class Child, class Visit>
static void for_each_gram(const Example& example, std::size_t longest, const Child& child,
                          const Visit& visit) {
  for (std::size_t begin = 0; begin < example.ids.size(); ++begin) {
    std::uint32_t gram = kNone;
    const std::size_t end = std::min(begin + longest, example.ids.size());
    for (std::size_t at = begin; at < end; ++at) {
      gram = child(gram, example.ids[at]);
      if (gram == kNone) break;
      visit(gram);
    }
  }
}

template <class F>
static void for_each_slot(const Example& example, bool answers, const F& f) {
  if (!answers) return f(std::size_t(example.targets[0]));
  for (std::size_t k = 0; k < example.values.size(); ++k) {
    if (!std::isnan(example.values[k])) f(2 * k + (example.values[k] > 0.5f));
  }
}

NaiveBayes::NaiveBayes(const Dataset& train, const TaskShape& shape, std::size_t longest,
                       GramLimits limits, const std::function<void()>& tell)
    : longest_(longest),
      choices_(shape.target == TargetKind::binary ? 2 : shape.classes),
      answers_(shape.target == TargetKind::binary),
      grams_(limits) {
  const std::size_t slots = answers_ ? 2 * shape.classes : shape.classes;
  totals_.assign(slots, 0);
  examples_.assign(slots, 0);
  bool whole = true;
  // In random order, so that stopping early in a table sorted by class still counts every class.
  const auto order = Rng(0).permutation(train.size());
  for (std::size_t i = 0; i < train.size() && (whole = grams_.is_room_for_another()); ++i) {
    tell();
    const Example example = train.get(0, order[i]);
    if (answers_ || example.targets[0] != kIgnore) {
      for_each_slot(example, answers_, [&](std::size_t slot) { examples_[slot] += 1; });
      const auto child = [&](std::uint32_t gram, std::int32_t token) {
        whole = grams_.is_room_for_another();
        return whole ? grams_.add(gram, token) : kNone;
      };
      for_each_gram(example, longest_, child, [&](std::uint32_t gram) {
        for_each_slot(example, answers_, [&](std::size_t slot) {
          if (!(whole = grams_.is_room())) return;
          grams_.count(gram, std::uint32_t(slot));
          totals_[slot] += 1;
        });
      });
    }
    rows_ += whole;
  }
  grams_.finish();
}

std::vector<std::int32_t> NaiveBayes::guess(const Example& example, double smoothing) const {
  // Adds log(c + a) - log(a) only to slots with a count c > 0. The log(a) of every slot cancels
  // because all slots have the same n-grams of this example.
  std::vector<double> scores(examples_.size());
  std::size_t known = 0;
  const auto child = [&](std::uint32_t gram, std::int32_t token) {
    return grams_.find(gram, token);
  };
  for_each_gram(example, longest_, child, [&](std::uint32_t gram) {
    ++known;
    for (const auto& [slot, count] : grams_.of(gram)) {
      scores[slot] += portable::log1p(count / smoothing);
    }
  });
  for (std::size_t slot = 0; slot < scores.size(); ++slot) {
    const double total = totals_[slot] + smoothing * double(grams_.size());
    scores[slot] += portable::log(examples_[slot]) - double(known) * portable::log(total);
  }
  std::vector<std::int32_t> best;
  for (auto group = scores.begin(); group != scores.end(); group += std::ptrdiff_t(choices_)) {
    best.push_back(std::int32_t(std::max_element(group, group + std::ptrdiff_t(choices_)) - group));
  }
  return best;
}

Rule naive_bayes(const Task& task, std::size_t longest, GramLimits limits) {
  constexpr double kSmoothings[] = {1, 0.1, 0.01, 0.001};
  const std::string rule =
      "naive Bayes of " + (longest == 1 ? "tokens" : "1- to " + std::to_string(longest) + "-grams");
  const auto train = whole_training_set(task), validation = task.dataset(Split::validation),
             test = task.dataset(Split::test);
  const std::size_t passes = std::size(kSmoothings), trained = train->size(),
                    rows = trained + passes * validation->size() + test->size();
  std::size_t done = 0;
  const auto tell = [&] { WatchProgress::tell(rule, ++done, rows); };
  const NaiveBayes bayes(*train, task.shape(), longest, limits, tell);
  done = trained;  // counting may have stopped early
  const auto measured = [&](const Dataset& split, double smoothing) {
    const GuessAll guess = [&](const Example& example) {
      tell();
      return bayes.guess(example, smoothing);
    };
    return measure_rule(name_with_rows(rule, bayes.rows(), trained), split, guess);
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
