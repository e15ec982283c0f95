// Parses numbers typed by a user.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace xgrad {

/// Parses the whole numbers of a line, separated by spaces or tabs, each in [0, largest]. Throws
/// DataError that names the word: `what` 3 is "x", ...
std::vector<std::int32_t> parse_numbers(const std::string& what, std::string_view line,
                                        std::int32_t largest);

}  // namespace xgrad
