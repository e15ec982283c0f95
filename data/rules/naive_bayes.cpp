#include <xgrad/data/rules/naive_bayes.hpp>

#include <algorithm>
#include <cmath>

#include <xgrad/autograd/random.hpp>
#include <xgrad/data/batch.hpp>

namespace xgrad {

namespace {

constexpr std::uint32_t kNone = ~std::uint32_t(0);  // no n-gram; also what all of one token extend

std::uint64_t extended(std::uint32_t gram, std::int32_t token) {
  return std::uint64_t(gram) << 32 | std::uint32_t(token);
}

}  // namespace

// Calls visit(number) for each n-gram of an example; child(key) numbers it, or says kNone.
template <class Child, class Visit>
void NaiveBayes::visit(const Example& example, const Child& child, const Visit& visit) const {
  for (std::size_t begin = 0; begin < example.ids.size(); ++begin) {
    std::uint32_t gram = kNone;
    const std::size_t end = std::min(begin + longest_, example.ids.size());
    for (std::size_t at = begin; at < end; ++at) {
      gram = child(extended(gram, example.ids[at]));
      if (gram == kNone) break;
      visit(gram);
    }
  }
}

template <class F>
void NaiveBayes::for_each_slot(const Example& example, const F& f) const {
  if (!answers_) return f(std::size_t(example.targets[0]));
  for (std::size_t k = 0; k < example.values.size(); ++k) {
    if (!std::isnan(example.values[k])) f(2 * k + (example.values[k] > 0.5f));
  }
}

NaiveBayes::NaiveBayes(const Dataset& train, const TaskShape& shape, std::size_t longest,
                       std::size_t most)
    : longest_(longest),
      choices_(shape.target == TargetKind::binary ? 2 : shape.classes),
      answers_(shape.target == TargetKind::binary) {
  const std::size_t slots = answers_ ? 2 * shape.classes : shape.classes;
  totals_.assign(slots, 0);
  examples_.assign(slots, 0);
  std::vector<std::uint64_t> seen;  // n-gram and slot of each that was counted
  // In random order: where not all are counted, a table that is sorted by class keeps every class.
  const auto order = Rng(0).permutation(train.size());
  for (std::size_t i = 0; i < train.size() && seen.size() < most; ++i) {
    const Example example = train.get(0, order[i]);
    if (!answers_ && example.targets[0] == kIgnore) continue;
    for_each_slot(example, [&](std::size_t slot) { examples_[slot] += 1; });
    const auto child = [&](std::uint64_t key) {
      return trie_.try_emplace(key, std::uint32_t(trie_.size())).first->second;
    };
    visit(example, child, [&](std::uint32_t gram) {
      for_each_slot(example, [&](std::size_t slot) {
        seen.push_back(std::uint64_t(gram) << 32 | slot);
        totals_[slot] += 1;
      });
    });
  }
  count(seen);
}

// Sorts what was seen into counts by n-gram.
void NaiveBayes::count(std::vector<std::uint64_t>& seen) {
  std::sort(seen.begin(), seen.end());
  begins_.assign(trie_.size() + 1, 0);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const auto gram = std::uint32_t(seen[i] >> 32), slot = std::uint32_t(seen[i]);
    if (i == 0 || seen[i] != seen[i - 1]) counts_.push_back({slot, 0});
    ++counts_.back().count;
    begins_[gram + 1] = counts_.size();
  }
  for (std::size_t gram = 1; gram < begins_.size(); ++gram) {  // of rows without an answer: none
    begins_[gram] = std::max(begins_[gram], begins_[gram - 1]);
  }
}

std::vector<std::int32_t> NaiveBayes::guess(const Example& example, double smoothing) const {
  // log(c + a) - log(a) of the slots with a count c > 0; the log(a) of every slot cancels, as each
  // slot has as many n-grams of this example.
  std::vector<double> scores(examples_.size());
  std::size_t known = 0;
  const auto child = [&](std::uint64_t key) {
    const auto found = trie_.find(key);
    return found == trie_.end() ? kNone : found->second;
  };
  visit(example, child, [&](std::uint32_t gram) {
    ++known;
    for (std::size_t i = begins_[gram]; i < begins_[gram + 1]; ++i) {
      scores[counts_[i].slot] += std::log1p(counts_[i].count / smoothing);
    }
  });
  for (std::size_t slot = 0; slot < scores.size(); ++slot) {
    const double total = totals_[slot] + smoothing * double(trie_.size());
    scores[slot] += std::log(examples_[slot]) - double(known) * std::log(total);
  }
  std::vector<std::int32_t> best;
  for (auto group = scores.begin(); group != scores.end(); group += std::ptrdiff_t(choices_)) {
    best.push_back(std::int32_t(std::max_element(group, group + std::ptrdiff_t(choices_)) - group));
  }
  return best;
}

}  // namespace xgrad
