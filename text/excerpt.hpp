// Quotes user input and file contents in messages.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace xgrad {

/// The number of bytes of the control character at the start of a text: 1 for ASCII, 2 for U+0080
/// to U+009F (terminals obey some of these, too), 0 for any other text.
std::size_t control_length(std::string_view text);

/// The text with each control character replaced by what `as` returns for its code point.
std::string replace_controls(std::string_view text, const std::function<std::string(unsigned)>& as);

/// The text or, if it has more than `most` bytes, its start and "...". Cuts between UTF-8
/// characters. Use it for all user input and file contents in messages.
std::string clipped(std::string_view text, std::size_t most = 40);

/// clipped() in quotes, with each control character replaced by a space.
std::string excerpt(std::string_view text);

/// The words, separated by `between`.
std::string joined(const std::vector<std::string>& words, const std::string& between = ", ");

/// The first `most` words, separated by `between`; if there are more, also "and N more".
std::string few(std::vector<std::string> words, const std::string& between, std::size_t most = 3);

}  // namespace xgrad
