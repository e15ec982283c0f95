// What the fields of a row say: tokens and labels.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <xgrad/data/tables/table.hpp>

namespace xgrad {

/// What a token of a text is.
enum class TokenKind {
  words,        ///< of a text, as they stand between white space; of a list; or whole numbers
  plain_words,  ///< of a text, without punctuation, capital letters of ASCII made small
  characters,
  numbers  ///< vectors, or single numbers
};

/// The tokens of an input that are not numbers, as parts of the field or of `made`, which takes the
/// text that had to be made of it. Throws DataError, starting with `place`, when there are none, a
/// word of a list holds white space, or the field is something else.
std::vector<std::string_view> token_texts(const std::string& place, const Field& field,
                                          TokenKind kind, std::string& made);

/// The one label of a sequence: text, or a whole number. Throws DataError, starting with `place`,
/// when it is empty, has space at an end, or is something else.
std::string sequence_label(const std::string& place, const Field& field);

/// The labels of `count` tokens: words of a text, a list of words, or whole numbers. Throws
/// DataError, starting with `place`, when there are more or fewer, one holds white space, or it is
/// something else.
std::vector<std::string> token_labels(const std::string& place, const Field& field,
                                      std::size_t count);

/// One of the yes-or-no answers to a row.
struct Answer {
  std::string name;    ///< a word
  bool holds = false;  ///< yes
};

/// The answers that a field tells: those of a text or list of words hold, and of others it says
/// nothing; numbers are 1 (yes) or 0 (no) for each answer, which are called 0, 1, 2 and so on.
/// Throws DataError, starting with `place`, when a word comes twice or holds white space, a number
/// is another, or it is something else.
std::vector<Answer> field_answers(const std::string& place, const Field& field);

/// The numbers of a field, or those that its text is, separated by white space: a token each.
/// Throws DataError, starting with `place`, when there are none or it is something else.
Numbers field_numbers(const std::string& place, const Field& field);

/// The edges of a graph: pairs of nodes, each from 0 to nodes - 1, of a text as "0-1 1-2"; there
/// may be none. Throws DataError, starting with `place`.
std::vector<std::pair<std::int32_t, std::int32_t>> field_edges(const std::string& place,
                                                               const Field& field,
                                                               std::int32_t nodes);

/// What tells one input from another: equal fields have equal keys.
std::string key_of(const Field& field);

}  // namespace xgrad
