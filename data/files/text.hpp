// Text of a user: UTF-8 and its characters, words, numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace xgrad {

/// Where text stops being UTF-8 (RFC 3629: no overlong forms, no surrogates), or npos.
std::size_t invalid_utf8(std::string_view text);

/// The code points of a text, each as its bytes. Requires: the text is UTF-8.
std::vector<std::string> characters(std::string_view text);

/// What stands between white space.
std::vector<std::string> words(std::string_view text);

/// The same in small letters, as far as ASCII has letters, and without punctuation: "Don't go!" is
/// dont go.
std::vector<std::string> plain_words(std::string_view text);

/// The text with its capital letters of Latin, Greek and Cyrillic made small, where Unicode gives
/// one small letter for one capital. Requires: the text is UTF-8.
std::string lowercase(std::string_view text);

/// The finite number that the whole text is, in decimal; nothing of any other text.
std::optional<double> to_number(std::string_view text);

/// A text for a message: in quotes, cut after 40 bytes.
std::string excerpt(std::string_view text);

/// A hash that is the same everywhere; `key` tells one use from another.
std::uint64_t stable_hash(std::string_view bytes, std::uint64_t key = 0);

}  // namespace xgrad
