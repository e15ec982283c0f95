#include <xgrad/data/text/text.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include <xgrad/autograd/random.hpp>

namespace xgrad {

namespace {

constexpr bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');  // \t \n \v \f \r
}

/// How many of eight bytes at a time are ASCII.
std::size_t ascii_prefix(std::string_view text) {
  std::size_t at = 0;
  for (std::uint64_t eight = 0; at + sizeof eight <= text.size(); at += sizeof eight) {
    std::memcpy(&eight, text.data() + at, sizeof eight);
    if ((eight & 0x8080808080808080u) != 0) break;
  }
  return at;
}

unsigned byte(std::string_view text, std::size_t at) {
  return at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
}

/// Bytes of the character that begins there; 0 where none does. The table of RFC 3629.
std::size_t length_at(std::string_view text, std::size_t at) {
  const unsigned first = byte(text, at), second = byte(text, at + 1);
  const auto follows = [&](std::size_t i) { return (byte(text, at + i) & 0xC0) == 0x80; };
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool overlong = first == 0xE0 && second < 0xA0;
    const bool surrogate = first == 0xED && second > 0x9F;
    return follows(1) && follows(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool overlong = first == 0xF0 && second < 0x90;
    const bool beyond = first == 0xF4 && second > 0x8F;
    return follows(1) && follows(2) && follows(3) && !overlong && !beyond ? 4 : 0;
  }
  return 0;
}

/// Capital letters from `first` to `last`, every one or every second, and how far on their small
/// letters are.
struct Capitals {
  std::uint32_t first, last, step;
  std::int32_t to_small;
};
// Unicode 15, the simple lowercase mappings of UnicodeData.txt.
constexpr Capitals kCapitals[] = {
    {'A', 'Z', 1, 32},     {0xC0, 0xD6, 1, 32},     {0xD8, 0xDE, 1, 32},
    {0x100, 0x12E, 2, 1},  {0x130, 0x130, 1, -199}, {0x132, 0x136, 2, 1},
    {0x139, 0x147, 2, 1},  {0x14A, 0x176, 2, 1},    {0x178, 0x178, 1, -121},
    {0x179, 0x17D, 2, 1},  {0x200, 0x21E, 2, 1},    {0x222, 0x232, 2, 1},
    {0x386, 0x386, 1, 38}, {0x388, 0x38A, 1, 37},   {0x38C, 0x38C, 1, 64},
    {0x38E, 0x38F, 1, 63}, {0x391, 0x3A1, 1, 32},   {0x3A3, 0x3AB, 1, 32},
    {0x400, 0x40F, 1, 80}, {0x410, 0x42F, 1, 32},   {0x460, 0x480, 2, 1},
    {0x48A, 0x4BE, 2, 1},  {0x4C0, 0x4C0, 1, 15},   {0x4C1, 0x4CD, 2, 1},
    {0x4D0, 0x52E, 2, 1},  {0x1E00, 0x1E94, 2, 1},  {0x1E9E, 0x1E9E, 1, -7615},
    {0x1EA0, 0x1EFE, 2, 1}};

std::uint32_t lowercase(std::uint32_t c) {
  for (const Capitals& row : kCapitals) {
    if (c >= row.first && c <= row.last && (c - row.first) % row.step == 0) {
      return std::uint32_t(std::int32_t(c) + row.to_small);
    }
  }
  return c;
}

std::uint32_t code_point(std::string_view character) {
  if (character.size() == 1) return byte(character, 0);
  std::uint32_t c = byte(character, 0) & (0xFFu >> (character.size() + 1));
  for (std::size_t i = 1; i < character.size(); ++i) c = c << 6 | (byte(character, i) & 0x3F);
  return c;
}

void append(std::uint32_t c, std::string& text) {
  const auto tail = [&](int shift) { text += char(0x80 | (c >> shift & 0x3F)); };
  if (c < 0x80) {
    text += char(c);
  } else if (c < 0x800) {
    text += char(0xC0 | c >> 6);
    tail(0);
  } else if (c < 0x10000) {
    text += char(0xE0 | c >> 12);
    tail(6);
    tail(0);
  } else {
    text += char(0xF0 | c >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

}  // namespace

std::size_t invalid_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    if (const std::size_t plain = ascii_prefix(text.substr(at)); plain > 0) {
      at += plain;
      continue;
    }
    const std::size_t length = length_at(text, at);
    if (length == 0) return at;
    at += length;
  }
  return std::string_view::npos;
}

std::vector<std::string_view> characters(std::string_view text) {
  std::vector<std::string_view> result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = length_at(text, at);
    result.push_back(text.substr(at, length));
    at += length;
  }
  return result;
}

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    while (at < text.size() && !is_space(text[at])) ++at;
    if (at > begin) result.push_back(text.substr(begin, at - begin));
    while (at < text.size() && is_space(text[at])) ++at;
  }
  return result;
}

std::string plain_text(std::string_view text) {
  std::string plain;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool capital = byte >= 'A' && byte <= 'Z', small = byte >= 'a' && byte <= 'z';
    if (capital) {
      plain += char(byte - 'A' + 'a');
    } else if (small || (byte >= '0' && byte <= '9') || byte >= 0x80) {
      plain += c;
    } else if (c != '\'') {
      plain += ' ';
    }
  }
  return plain;
}

std::string lowercase(std::string_view text) {
  std::string small;
  for (const std::string_view character : characters(text))
    append(lowercase(code_point(character)), small);
  return small;
}

std::optional<double> to_number(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

StableHash::StableHash(std::uint64_t size, std::uint64_t key)
    : key_(key + 0x6861736865640000u + size) {}  // "hashed"

// Sixteen bytes a round, each round keyed by the one before, as split_of() hashes tokens.
void StableHash::add(std::string_view bytes) {
  static_assert(std::endian::native == std::endian::little);
  std::array<std::uint32_t, 4> words;
  for (std::size_t at = 0; at < bytes.size(); at += sizeof words) {
    words = {};
    std::memcpy(words.data(), bytes.data() + at, std::min(sizeof words, bytes.size() - at));
    const auto out = Rng(key_).words(words[0], words[1], words[2], words[3]);
    key_ = (std::uint64_t(out[1]) << 32) | out[0];
  }
}

std::uint64_t stable_hash(std::string_view bytes, std::uint64_t key) {
  StableHash hash(bytes.size(), key);
  hash.add(bytes);
  return hash.value();
}

}  // namespace xgrad
