// Reads and writes examples as text.
#pragma once

#include <string>
#include <string_view>

#include <xgrad/data/task.hpp>

namespace xgrad {

/// Pairs of nodes of a graph; edges are undirected.
using Edges = std::vector<std::pair<std::int32_t, std::int32_t>>;

/// Parses one edge, such as "0-1"; nothing for any other word.
std::optional<Edges::value_type> parse_edge(std::string_view word);

/// Parses the whole numbers of a line, separated by white space, each in [0, largest]. Throws
/// DataError for any other word. The message starts with `what` and the number of the word, as in:
/// token 3 is "x".
std::vector<std::int32_t> parse_numbers(const std::string& what, std::string_view line,
                                        std::int32_t largest);

/// Parses the tokens of a line, separated by spaces: token names if the task has names, else token
/// ids. Throws DataError that starts with `task`, the name of the task, if a token is wrong, or if
/// the line has no tokens or too many.
std::vector<std::int32_t> parse_tokens(const std::string& task, const std::string& line,
                                       const TaskShape& shape);

/// Parses the numbers of a line, separated by spaces. Every `features` numbers form a vector, which
/// may end with a comma. Throws DataError that starts with `task` if there are no numbers, a word
/// is wrong or a vector is incomplete. T is float or double.
template <class T>
std::vector<T> parse_vectors(const std::string& task, const std::string& line,
                             std::size_t features);

/// Parses tokens in the format of parse_tokens(), then edges, such as "0-1 1-4". Throws DataError
/// that starts with the name of the task and says which token or edge is wrong.
Example parse_graph(const std::string& task, const std::string& line, const TaskShape& shape);

/// The input in the format that the parsers read; for an image, "an image of 28 x 28".
std::string input_text(const Example& example, const TaskShape& shape);

/// The number of `<unk>` tokens in an example; 0 if the task has no `<unk>`.
std::size_t unknown_tokens(const Example& example, const TaskShape& shape);

/// The targets as text: class_text(), answer_text() or numbers; a dot for a missing target.
std::string target_text(const Example& example, const TaskShape& shape);

/// The name of a class, or its number if it has no name.
std::string class_text(std::int32_t id, const TaskShape& shape);

/// Binary answer `number` of a task, as text: the answer's name if `yes`, else a dash. If answers
/// have no names: 1 if `yes`, else 0.
std::string answer_text(bool yes, std::size_t number, const TaskShape& shape);

}  // namespace xgrad
