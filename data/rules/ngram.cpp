#include <xgrad/data/rules/ngram.hpp>

#include <algorithm>
#include <cstdio>
#include <numbers>

#include <xgrad/autograd/kernels/portable_math.hpp>
#include <xgrad/autograd/random.hpp>
#include <xgrad/data/batch.hpp>
#include <xgrad/data/unknown.hpp>
#include <xgrad/data/watch_progress.hpp>

namespace xgrad {

namespace {

// Loss and right answers of one order.
struct Score {
  double loss = 0, right = 0, exact = 0;
};

struct Scores {
  std::vector<Score> orders;  // of n-grams of 1 to n tokens, at n - 1
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
  if (counts.empty()) return;  // the limits stopped the counting before its first token
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
  const auto train = whole_training_set(task), validation = task.dataset(Split::validation),
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

}  // namespace xgrad
