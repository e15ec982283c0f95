// Quotes user input and file contents in messages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace xgrad {

/// Whether a byte is a control character of ASCII: below a space, or DEL.
inline bool is_control(char c) {
  return (c >= 0 && c < ' ') || c == 0x7F;
}

/// The text; if longer than `most` bytes, its start, cut between UTF-8 characters, and "...". Use
/// it for all user input and file contents in messages.
std::string clipped(std::string_view text, std::size_t most = 40);

/// clipped() in quotes, with each control character replaced by a space.
std::string excerpt(std::string_view text);

/// The words, separated by `between`.
std::string joined(const std::vector<std::string>& words, const std::string& between = ", ");

}  // namespace xgrad
