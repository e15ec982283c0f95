#include <cmath>
#include <limits>

#include <xgrad/autograd/kernels/portable_math.hpp>
#include <xgrad/data/tasks/corpora/cmu.hpp>

namespace xgrad {

namespace {

constexpr std::size_t kMostPhones = 2;  // most phones per letter
// Initial probabilities for EM, by number of phones. Pairs get little, or EM would prefer a silent
// letter and a pair over two letters with one phone each.
constexpr double kStart[] = {0.2, 0.75, 0.05};
// Breaks ties between equally likely alignments; far above rounding errors in a sum of logarithms.
constexpr double kLater = 1e-7;

/// A value for each pair (letters read, phones read) of a word.
class Lattice {
 public:
  Lattice(const Pronunciation& word, double value)
      : width_(word.phones.size() + 1), values_((word.letters.size() + 1) * width_, value) {}
  double& at(std::size_t letters, std::size_t phones) { return values_[letters * width_ + phones]; }

 private:
  std::size_t width_;
  std::vector<double> values_;
};

/// Calls f(letter, first phone, number of phones) for every possible step of an alignment.
template <class F>
void for_each_step(const Pronunciation& word, const F& f) {
  for (std::size_t i = 0; i < word.letters.size(); ++i) {
    for (std::size_t j = 0; j <= word.phones.size(); ++j) {
      for (std::size_t k = 0; k <= kMostPhones && j + k <= word.phones.size(); ++k) f(i, j, k);
    }
  }
}

}  // namespace

Alignment::Alignment(std::size_t letters, std::size_t phones)
    : phones_(phones), labels_(1 + phones + phones * phones) {
  const double p = double(phones);
  for (std::size_t letter = 0; letter < letters; ++letter) {
    table_.push_back(kStart[0]);
    table_.insert(table_.end(), phones, kStart[1] / p);
    table_.insert(table_.end(), phones * phones, kStart[2] / (p * p));
  }
}

std::size_t Alignment::label(const Pronunciation& word, std::size_t first,
                             std::size_t count) const {
  if (count == 0) return 0;
  const auto p = std::size_t(word.phones[first]);
  return count == 1 ? 1 + p : 1 + phones_ + phones_ * p + std::size_t(word.phones[first + 1]);
}

double Alignment::probability(const Pronunciation& word, std::size_t letter, std::size_t first,
                              std::size_t count) const {
  return table_[std::size_t(word.letters[letter]) * labels_ + label(word, first, count)];
}

void Alignment::add_expected(const Pronunciation& word, std::vector<double>& counts,
                             double& likelihood) const {
  const std::size_t n = word.letters.size(), m = word.phones.size();
  Lattice before(word, 0), after(word, 0);
  before.at(0, 0) = 1;
  for_each_step(word, [&](std::size_t i, std::size_t j, std::size_t k) {
    before.at(i + 1, j + k) += before.at(i, j) * probability(word, i, j, k);
  });
  const double total = before.at(n, m);
  if (!(total > 0)) return;
  after.at(n, m) = 1;
  for_each_step(word, [&](std::size_t from_last, std::size_t j, std::size_t k) {
    const std::size_t i = n - 1 - from_last;
    after.at(i, j) += probability(word, i, j, k) * after.at(i + 1, j + k);
  });
  for_each_step(word, [&](std::size_t i, std::size_t j, std::size_t k) {
    counts[std::size_t(word.letters[i]) * labels_ + label(word, j, k)] +=
        before.at(i, j) * probability(word, i, j, k) * after.at(i + 1, j + k) / total;
  });
  likelihood += portable::log(total);
}

double Alignment::fit(const std::vector<Pronunciation>& words, double least) {
  std::vector<double> counts(table_.size(), 0);
  double likelihood = 0;
  for (const Pronunciation& word : words) add_expected(word, counts, likelihood);
  for (std::size_t row = 0; row < counts.size(); row += labels_) {
    double sum = 0;
    for (std::size_t i = row; i < row + labels_; ++i) {
      if (counts[i] < least) counts[i] = 0;
      sum += counts[i];
    }
    for (std::size_t i = row; i < row + labels_; ++i) table_[i] = sum > 0 ? counts[i] / sum : 0;
  }
  return likelihood;
}

std::optional<std::vector<std::int32_t>> Alignment::best(const Pronunciation& word) const {
  const std::size_t n = word.letters.size(), m = word.phones.size();
  const double none = -std::numeric_limits<double>::infinity();
  Lattice score(word, none), taken(word, 0);
  score.at(0, 0) = 0;
  for_each_step(word, [&](std::size_t i, std::size_t j, std::size_t k) {
    const double p = probability(word, i, j, k);
    if (!(p > 0) || score.at(i, j) == none) return;
    const double value = score.at(i, j) + portable::log(p) + (k == 0 ? kLater * double(i) : 0);
    if (value <= score.at(i + 1, j + k)) return;
    score.at(i + 1, j + k) = value;
    taken.at(i + 1, j + k) = double(k);
  });
  if (score.at(n, m) == none) return std::nullopt;
  std::vector<std::int32_t> labels(n);
  for (std::size_t i = n, j = m; i-- > 0;) {
    const auto k = std::size_t(taken.at(i + 1, j));
    j -= k;
    labels[i] = std::int32_t(label(word, j, k));
  }
  return labels;
}

std::vector<std::int32_t> Alignment::phones(std::int32_t label) const {
  const auto p = std::int32_t(phones_);
  if (label == 0) return {};
  if (label <= p) return {label - 1};
  return {(label - 1 - p) / p, (label - 1 - p) % p};
}

}  // namespace xgrad
