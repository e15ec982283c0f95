// JSON Lines: one JSON object per line.
#pragma once

#include <string_view>

#include <xgrad/data/tables/byte_stream.hpp>
#include <xgrad/data/tables/table.hpp>

namespace xgrad {

/// Reads a file once, in blocks: the named members of the object on each line. A member is text, a
/// number, a boolean (read as text), a list of texts, a list of numbers or a list of equally long
/// lists of numbers.
///
/// Throws DataError that names the file, row and column when a line is not a JSON object, repeats
/// or lacks a member, or a member has another type.
void read_jsonl(ByteStream& bytes, const std::vector<std::string>& columns,
                const VisitBlock& visit);

/// Parses a single line; `file` starts messages.
std::vector<Field> read_json_row(const std::string& file, std::string_view line,
                                 const std::vector<std::string>& columns);

}  // namespace xgrad
