// Stems of English words, and an alignment that finds the phones of each letter of a word.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace xgrad {

/// Returns the stem of a word. Removes endings of inflection and common derivation, then final e, i
/// and y, then one of two equal last letters, but never one of the first three letters. The stem of
/// abandon, abandons, abandoned, abandoning and abandonment is "abandon".
///
/// Used to keep all forms of a word in one split. Two different words may get the same stem; this
/// is better than two stems for two forms of one word. Requires: lower-case letters.
std::string stem(std::string word);

/// A word and its pronunciation. Letters and phones are numbers from 0.
struct Pronunciation {
  std::vector<std::int32_t> letters;  ///< the spelling
  std::vector<std::int32_t> phones;   ///< the pronunciation
};

/// Aligns letters and phones. Each letter stands for 0, 1 or 2 phones. The letter's label encodes
/// these phones. With n different phones, label 0 means no phone, 1 + p means the phone p, and
/// 1 + n + n p + q the phones p and q. A word's probability is the sum over its alignments of
/// prod_i P(label_i | letter_i). EM fits these P to words with unknown alignments (Jiampojamarn,
/// Kondrak and Sherif 2007, with one letter and at most two phones per unit).
class Alignment {
 public:
  /// Starts with the same probabilities for every letter: fixed shares for no phone, one phone and
  /// two phones. Each share is spread evenly over its labels. `letters` and `phones` are the sizes
  /// of the two alphabets.
  Alignment(std::size_t letters, std::size_t phones);

  /// Runs one round of EM, in the order of `words`, so that the same words give the same bits.
  /// Labels with an expected count below `least` become impossible. Skips words without an
  /// alignment. Returns the log-likelihood, before the round, of the words with an alignment.
  double fit(const std::vector<Pronunciation>& words, double least = 0);

  /// Returns the most likely labels of the letters, or nothing if no alignment is possible. If two
  /// alignments are equally likely ("ll"), the earlier letter gets the phone.
  std::optional<std::vector<std::int32_t>> best(const Pronunciation& word) const;

  /// Returns the phones that a label encodes.
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
