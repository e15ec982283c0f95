// Examples as people write them.
#pragma once

#include <string>

#include <xgrad/data/task.hpp>

namespace xgrad {

/// The tokens of a line, separated by spaces: names where the task has them, else ids. Throws
/// DataError that starts with the task's name and says which token is wrong, or how many there are.
std::vector<std::int32_t> parse_tokens(const std::string& task, const std::string& line,
                                       const TaskShape& shape);

/// The numbers of a line, separated by spaces, `features` of them a vector; commas may stand
/// between vectors, of which there may be any number. Throws DataError as parse_tokens() does. T is
/// float or double.
template <class T>
std::vector<T> parse_vectors(const std::string& task, const std::string& line,
                             std::size_t features);

/// Tokens as parse_tokens() reads them, then edges as edges_text() writes them. Throws DataError
/// that starts with the task's name and says which is wrong.
Example parse_graph(const std::string& task, const std::string& line, const TaskShape& shape);

/// The tokens or vectors as they are read, or what kind of image it is.
std::string input_text(const Example& example, const TaskShape& shape);

/// Tokens of an example that stand for ones out of the vocabulary, `<unk>`; 0 where a task has
/// none.
std::size_t unknown_tokens(const Example& example, const TaskShape& shape);

/// The classes, by name where they have one, the answers or the numbers; a dot where nothing
/// counts.
std::string target_text(const Example& example, const TaskShape& shape);

/// The name of a class, or its number.
std::string class_text(std::int32_t id, const TaskShape& shape);

/// What is said to the answer with this number: its name or a dash for yes or no; 1 or 0 where
/// answers have no names.
std::string answer_text(bool yes, std::size_t number, const TaskShape& shape);

}  // namespace xgrad
