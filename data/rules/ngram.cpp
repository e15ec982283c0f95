#include <xgrad/data/rules/ngram.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <numbers>

#include <xgrad/autograd/portable_math.hpp>
#include <xgrad/autograd/random.hpp>
#include <xgrad/data/batch.hpp>
#include <xgrad/data/rules/baseline.hpp>
#include <xgrad/data/watch_progress.hpp>

namespace xgrad {

namespace {

// Loss and right answers of one order.
struct Score {
  double loss = 0, right = 0, exact = 0;
};

struct Scores {
  std::vector<Score> orders;  // orders[n - 1]: n-grams of 1 to n tokens
  double targets = 0;
};

template <class Tell>
Scores measure(const NGram& model, const Dataset& split, std::size_t longest, const Tell& tell) {
  Scores scores{std::vector<Score>(longest)};
  for (std::size_t i = 0; i < split.size(); ++i) {
    tell();
    const Example example = split.get(0, i);
    std::vector<bool> exact(longest, true);
    for (std::size_t place = 0; place < example.targets.size(); ++place) {
      const std::int32_t target = example.targets[place];
      if (target == kIgnore) continue;
      scores.targets += 1;
      model.for_each_order(example, place, [&](std::size_t n, const std::vector<double>& p) {
        if (n > longest) return;
        const bool right = std::max_element(p.begin(), p.end()) - p.begin() == target;
        scores.orders[n - 1].loss -= portable::log(p[std::size_t(target)]);
        scores.orders[n - 1].right += right;
        exact[n - 1] = exact[n - 1] && right;
      });
    }
    for (std::size_t n = 0; n < longest; ++n) scores.orders[n].exact += exact[n];
  }
  return scores;
}

}  // namespace

NGram::NGram(const Dataset& train, std::size_t classes, std::size_t longest, GramLimits limits)
    : classes_(classes), longest_(longest), contexts_(limits) {
  contexts_.add(GramCounts::kNone, -1);  // the empty context; no token is negative
  bool whole = true;
  const auto is_room = [&] { return whole = contexts_.is_room_for_another(); };
  const auto order = Rng(0).permutation(train.size());
  for (std::size_t i = 0; i < train.size() && is_room(); ++i) {
    const Example example = train.get(0, order[i]);
    for (std::size_t place = 0; place < example.targets.size(); ++place) {
      if (example.targets[place] == kIgnore) continue;
      std::uint32_t context = kEmpty;
      for (std::size_t n = 1; n <= longest_ && is_room(); ++n) {
        contexts_.count(context, std::uint32_t(example.targets[place]));
        if (n > place + 1 || n == longest_) break;
        context = contexts_.add(context, example.ids[place + 1 - n]);
      }
    }
    rows_ += whole;
  }
  contexts_.finish();
}

void NGram::interpolate(std::uint32_t context, std::vector<double>& p) const {
  const auto counts = contexts_.of(context);
  double total = 0;
  for (const auto& [next, count] : counts) total += count;
  const auto different = double(counts.size());
  if (counts.empty()) return;  // no token after it was counted, because of the limits
  for (double& each : p) each *= different / (total + different);
  for (const auto& [next, count] : counts) p[next] += count / (total + different);
}

std::string loss_text(const Rule& rule) {
  if (!rule.loss) return "";
  char text[64];
  std::snprintf(text, sizeof(text), ", loss %.4f (%.4f bits)", *rule.loss,
                *rule.loss / std::numbers::ln2);
  return text;
}

Rule ngram_rule(const Task& task, std::size_t longest, GramLimits limits) {
  const auto train = task.whole_training_set(), validation = task.dataset(Split::validation),
             test = task.dataset(Split::test);
  const std::string name = "interpolated n-grams";
  std::size_t done = 0;
  const std::size_t rows = validation->size() + test->size();
  const auto tell = [&] { WatchProgress::tell(name, ++done, rows); };
  const NGram model(*train, task.shape().classes, longest, limits);
  const Scores chosen_on = measure(model, *validation, longest, tell);
  const auto best =
      std::min_element(chosen_on.orders.begin(), chosen_on.orders.end(),
                       [](const Score& a, const Score& b) { return a.loss < b.loss; });
  const auto n = std::size_t(best - chosen_on.orders.begin()) + 1;
  const Scores scores = measure(model, *test, n, tell);
  const Score& score = scores.orders.back();
  return {name_with_rows("interpolated 1- to " + std::to_string(n) + "-grams", model.rows(),
                         train->size()),
          score.right / scores.targets, score.exact / double(test->size()),
          score.loss / scores.targets};
}

static constexpr std::uint32_t kNone = GramCounts::kNone;

// Calls visit(id) for each n-gram of an example. child(gram, token) returns the id of the n-gram
// with one more token, or kNone.
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
  // Adds log(c + a) - log(a), and only to slots with a count c > 0. The terms log(a) cancel, since
  // they are the same for every slot: one for each n-gram of this example.
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
  const auto train = task.whole_training_set(), validation = task.dataset(Split::validation),
             test = task.dataset(Split::test);
  const std::size_t passes = std::size(kSmoothings), trained = train->size(),
                    rows = trained + passes * validation->size() + test->size();
  std::size_t done = 0;
  const auto tell = [&] { WatchProgress::tell(rule, ++done, rows); };
  const NaiveBayes bayes(*train, task.shape(), longest, limits, tell);
  done = trained;  // counting may have stopped early
  const auto measured = [&](const Dataset& split, double smoothing) {
    const Guess guess = [&](const Example& example) {
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
