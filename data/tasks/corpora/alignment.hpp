// Alignment: which phones each letter of a word stands for.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace xgrad {

/// A word, its letters and phones as numbers from 0.
struct Pronunciation {
  std::vector<std::int32_t> letters;  ///< in writing
  std::vector<std::int32_t> phones;   ///< in speech
};

/// Every letter stands for no, one or two phones, its label: 0 is none, 1 + p the phone p, and
/// 1 + P + P p + q the phones p and q. A word's probability is the sum over its alignments of
/// prod_i P(label_i | letter_i); EM fits P to words whose alignments nobody has seen (Jiampojamarn,
/// Kondrak and Sherif 2007, with one letter and at most two phones a unit).
class Alignment {
 public:
  /// Of so many letters and phones; every label is equally likely.
  Alignment(std::size_t letters, std::size_t phones);

  /// One round of EM, word by word in their order, so that the same words give the same bits.
  /// Labels expected fewer than `least` times become impossible. Words without an alignment count
  /// nothing. Returns the log-likelihood of the others before the round.
  double fit(const std::vector<Pronunciation>& words, double least = 0);

  /// The most likely labels of the letters, the earlier letter sounding where two alignments are
  /// equally likely ("ll"); nothing when there are none.
  std::optional<std::vector<std::int32_t>> best(const Pronunciation& word) const;

  /// The phones of a label.
  std::vector<std::int32_t> phones(std::int32_t label) const;

 private:
  std::size_t label(const Pronunciation& word, std::size_t first, std::size_t count) const;
  double probability(const Pronunciation& word, std::size_t letter, std::size_t first,
                     std::size_t count) const;
  void add_expected(const Pronunciation& word, std::vector<double>& counts,
                    double& likelihood) const;

  std::size_t phones_, labels_;
  std::vector<double> table_;  // (letters, labels): P(label | letter)
};

}  // namespace xgrad
