// JSON Lines: an object a line.
#pragma once

#include <string_view>

#include <xgrad/data/tables/byte_stream.hpp>
#include <xgrad/data/tables/table.hpp>

namespace xgrad {

/// Passes over the rows of a file once, in blocks: the named members of each line's object. A
/// member is text, a number, a boolean (as text), a list of texts, a list of numbers or a list of
/// equally long lists of numbers.
///
/// Throws DataError that names the file, the row and the column: what is no JSON, no object, has a
/// name twice, lacks a member, or holds anything else in one.
void read_jsonl(ByteStream& bytes, const std::vector<std::string>& columns,
                const VisitBlock& visit);

/// The row of a single line; `file` stands before messages.
std::vector<Field> read_json_row(const std::string& file, std::string_view line,
                                 const std::vector<std::string>& columns);

}  // namespace xgrad
