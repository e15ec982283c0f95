#include <xgrad/data/rules/naive_bayes.hpp>

#include <algorithm>
#include <cmath>

#include <xgrad/autograd/random.hpp>
#include <xgrad/data/batch.hpp>

namespace xgrad {

namespace {

constexpr std::uint32_t kNone = KeyIndex::kNone;  // no n-gram; also the parent of single tokens

std::uint64_t extended(std::uint32_t gram, std::int32_t token) {
  return std::uint64_t(gram) << 32 | std::uint32_t(token);
}

}  // namespace

// Calls visit(number) for each n-gram of an example. child(key) returns the number of an n-gram, or
// kNone.
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
                       GramLimits limits)
    : longest_(longest),
      choices_(shape.target == TargetKind::binary ? 2 : shape.classes),
      answers_(shape.target == TargetKind::binary) {
  const std::size_t slots = answers_ ? 2 * shape.classes : shape.classes;
  totals_.assign(slots, 0);
  examples_.assign(slots, 0);
  KeyIndex pairs;  // pairs of an n-gram and a slot
  std::vector<std::uint32_t> counts;
  std::size_t counted = 0;
  bool whole = true;
  const auto is_room = [&] {
    return whole = counted < limits.counted && pairs.size() < limits.different;
  };
  const auto is_room_for_another = [&] {
    return whole = is_room() && trie_.size() < limits.different;
  };
  // In random order, so that stopping early in a table sorted by class still counts every class.
  const auto order = Rng(0).permutation(train.size());
  for (std::size_t i = 0; i < train.size() && is_room_for_another(); ++i) {
    const Example example = train.get(0, order[i]);
    if (answers_ || example.targets[0] != kIgnore) {
      for_each_slot(example, [&](std::size_t slot) { examples_[slot] += 1; });
      const auto child = [&](std::uint64_t key) {
        return is_room_for_another() ? trie_.add(key) : kNone;
      };
      visit(example, child, [&](std::uint32_t gram) {
        for_each_slot(example, [&](std::size_t slot) {
          if (!is_room()) return;
          const std::uint32_t pair = pairs.add(extended(gram, std::int32_t(slot)));
          if (pair == counts.size()) counts.push_back(0);
          ++counts[pair];
          totals_[slot] += 1;
          ++counted;
        });
      });
    }
    rows_ += whole;
  }
  sort(pairs, counts);
}

// Groups the counts by n-gram, with a counting sort.
void NaiveBayes::sort(const KeyIndex& pairs, const std::vector<std::uint32_t>& counts) {
  begins_.assign(trie_.size() + 1, 0);
  for (std::size_t i = 0; i < pairs.size(); ++i) ++begins_[pairs.key(i) >> 32];
  for (std::size_t gram = 1; gram < begins_.size(); ++gram) begins_[gram] += begins_[gram - 1];
  counts_.resize(pairs.size());
  for (std::size_t i = pairs.size(); i-- > 0;) {  // turns the end of each group into its beginning
    const std::uint64_t key = pairs.key(i);
    counts_[--begins_[key >> 32]] = {std::uint32_t(key), counts[i]};
  }
}

std::vector<std::int32_t> NaiveBayes::guess(const Example& example, double smoothing) const {
  // Adds log(c + a) - log(a) only to slots with a count c > 0. The log(a) of every slot cancels
  // because all slots have the same n-grams of this example.
  std::vector<double> scores(examples_.size());
  std::size_t known = 0;
  const auto child = [&](std::uint64_t key) { return trie_.find(key); };
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
