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

/// The code points of a text, each as its bytes in it. Requires: the text is UTF-8.
std::vector<std::string_view> characters(std::string_view text);

/// What stands between white space, as parts of the text.
std::vector<std::string_view> words(std::string_view text);

/// The text in small letters, as far as ASCII has letters, and with spaces for punctuation: "Don't
/// go!" has the words dont and go.
std::string plain_text(std::string_view text);

/// The text with its capital letters of Latin, Greek and Cyrillic made small, where Unicode gives
/// one small letter for one capital. Requires: the text is UTF-8.
std::string lowercase(std::string_view text);

/// The finite number that the whole text is, in decimal; nothing of any other text.
std::optional<double> to_number(std::string_view text);

/// A hash that is the same everywhere, of bytes that come in parts.
class StableHash {
 public:
  /// Of `size` bytes in all; `key` tells one use from another.
  explicit StableHash(std::uint64_t size, std::uint64_t key = 0);
  /// The next bytes. Requires: those of each part before the last are a multiple of 16.
  void add(std::string_view bytes);
  /// The hash of all. Requires: all came.
  std::uint64_t value() const { return key_; }

 private:
  std::uint64_t key_;
};

/// The same of bytes that are all there.
std::uint64_t stable_hash(std::string_view bytes, std::uint64_t key = 0);

}  // namespace xgrad
