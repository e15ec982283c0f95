// Text processing: UTF-8 characters, words, numbers, letter case and hashing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace xgrad {

/// Returns the index of the first byte that is not valid UTF-8 (RFC 3629: no overlong forms, no
/// surrogates), or npos.
std::size_t invalid_utf8(std::string_view text);

/// The number of bytes of the first character; 0 if the text does not start with a valid one.
std::size_t character_length(std::string_view text);

/// Splits a text into code points, as views of it. Requires: the text is UTF-8.
std::vector<std::string_view> characters(std::string_view text);

/// Splits a text at white space, into views of it.
std::vector<std::string_view> words(std::string_view text);

/// Calls visit(line, number) for each line of a text, without its line feed; numbers count from 1.
void for_each_line(std::string_view text,
                   const std::function<void(std::string_view line, std::size_t number)>& visit);

/// Converts ASCII letters to lower case, deletes apostrophes, and replaces other ASCII punctuation
/// by spaces: "Don't go!" becomes "dont go ".
std::string plain_text(std::string_view text);

/// Converts a text to lower case by the simple lowercase mappings of Unicode 15, which map one code
/// point to one. Requires: the text is UTF-8.
std::string lowercase(std::string_view text);

/// Parses a text that consists of one finite decimal number. Returns nothing for any other text. T
/// is float, double, std::int32_t or std::int64_t.
template <class T = double>
std::optional<T> to_number(std::string_view text);

/// A hash of bytes that arrive in parts; the same on every machine.
class StableHash {
 public:
  /// `size` is the total number of bytes. `key` separates different uses of the hash.
  explicit StableHash(std::uint64_t size, std::uint64_t key = 0);
  /// Adds the next bytes. Requires: every part but the last has a multiple of 16 bytes.
  void add(std::string_view bytes);
  /// The hash. Requires: all bytes were added.
  std::uint64_t value() const { return key_; }

 private:
  std::uint64_t key_;
};

/// StableHash of bytes in memory.
std::uint64_t stable_hash(std::string_view bytes, std::uint64_t key = 0);

}  // namespace xgrad
