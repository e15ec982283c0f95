// What a user or a file gave, as messages quote it.
#pragma once

#include <string>
#include <string_view>

namespace xgrad {

/// The text; of one with more than `most` bytes its beginning, in whole characters, and an
/// ellipsis. Whatever a user or a file gave goes into messages by this function.
std::string clipped(std::string_view text, std::size_t most = 40);

/// clipped() in quotes, with spaces for control characters.
std::string excerpt(std::string_view text);

}  // namespace xgrad
