// Reads tokens, labels and edges from the fields of a row.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <xgrad/data/tables/table.hpp>

namespace xgrad {

/// The kind of tokens of an input.
enum class TokenKind {
  words,        ///< words separated by white space, list items, or whole numbers
  plain_words,  ///< words without punctuation, with ASCII letters in lower case
  word_pairs,   ///< plain words, each followed by the pair that it is the first of, as in_the
  characters,
  numbers  ///< vectors or single numbers
};

/// The names of TokenKind, the values of task.tokens.
inline constexpr std::array kTokenKinds = {"words", "plain_words", "word_pairs", "characters",
                                           "numbers"};

/// The value of an enumeration with this name. Requires: it is one of `names`.
template <class Enum, std::size_t N>
Enum named(const std::array<const char*, N>& names, const std::string& name) {
  return Enum(std::find(names.begin(), names.end(), name) - names.begin());
}

/// Returns the tokens of a non-numeric input, as views into the field or into `made`, which
/// receives any text that must be created. Throws DataError, starting with `place`, when there are
/// no tokens, a list item holds white space, or the field has another type.
std::vector<std::string_view> token_texts(const std::string& place, const Field& field,
                                          TokenKind kind, std::string& made);

/// Returns the one label of a sequence: text or a whole number. Throws DataError, starting with
/// `place`, when it is empty, begins or ends with white space, or has another type.
std::string sequence_label(const std::string& place, const Field& field);

/// One yes-or-no answer of a row, or a label, which always holds.
struct Answer {
  std::string name;    ///< name, a word
  bool holds = false;  ///< true: yes
};

/// Returns the labels of `count` tokens: words of a text, a list of words, or whole numbers. Throws
/// DataError, starting with `place`, when the number of labels differs, one holds white space, or
/// the field has another type.
std::vector<Answer> token_labels(const std::string& place, const Field& field, std::size_t count);

/// Returns the answers in a field. A text or list of words names the answers that are yes; others
/// are not returned. Numbers are 1 (yes) or 0 (no), one per answer; those answers are named 0, 1, 2
/// and so on. Throws DataError, starting with `place`, when a word occurs twice or holds white
/// space, a number is not 0 or 1, or the field has another type.
std::vector<Answer> field_answers(const std::string& place, const Field& field);

/// Returns the numbers of a field, or of its text, separated by white space: one per token. Throws
/// DataError, starting with `place`, when there are none or the field has another type.
FieldNumbers field_numbers(const std::string& place, const Field& field);

/// Returns the edges of a graph: pairs of nodes in [0, nodes), or a text such as "0-1 1-2". May be
/// empty. Throws DataError, starting with `place`.
std::vector<std::pair<std::int32_t, std::int32_t>> field_edges(const std::string& place,
                                                               const Field& field,
                                                               std::int32_t nodes);

/// A key of a field: equal fields have equal keys.
std::string key_of(const Field& field);

}  // namespace xgrad
