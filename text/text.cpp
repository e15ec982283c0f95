#include <xgrad/text/text.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include <xgrad/autograd/random.hpp>

namespace xgrad {

static constexpr bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');  // \t \n \v \f \r
}

/// Returns the length of the ASCII prefix, rounded down to a multiple of eight bytes.
static std::size_t ascii_prefix(std::string_view text) {
  std::size_t at = 0;
  for (std::uint64_t eight = 0; at + sizeof eight <= text.size(); at += sizeof eight) {
    std::memcpy(&eight, text.data() + at, sizeof eight);
    if ((eight & 0x8080808080808080u) != 0) break;
  }
  return at;
}

static unsigned byte(std::string_view text, std::size_t at) {
  return at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
}

// Follows the table of RFC 3629.
std::size_t character_length(std::string_view text) {
  const unsigned first = byte(text, 0), second = byte(text, 1);
  if (first < 0x80) return text.empty() ? 0 : 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  const std::size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(text, i) & 0xC0) != 0x80) return 0;
  }
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool surrogate = first == 0xED && second > 0x9F;
  const bool beyond = first == 0xF4 && second > 0x8F;
  return overlong || surrogate || beyond ? 0 : length;
}

std::size_t invalid_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    if (const std::size_t plain = ascii_prefix(text.substr(at)); plain > 0) {
      at += plain;
      continue;
    }
    const std::size_t length = character_length(text.substr(at));
    if (length == 0) return at;
    at += length;
  }
  return std::string_view::npos;
}

std::vector<std::string_view> characters(std::string_view text) {
  std::vector<std::string_view> result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = character_length(text.substr(at));
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

void for_each_line(std::string_view text,
                   const std::function<void(std::string_view, std::size_t)>& visit) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    visit(text.substr(0, end), number);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
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

template <class T>
std::optional<T> to_number(std::string_view text) {
  T value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || !std::isfinite(double(value))) return std::nullopt;
  return value;
}
template std::optional<float> to_number(std::string_view);
template std::optional<double> to_number(std::string_view);
template std::optional<std::int32_t> to_number(std::string_view);
template std::optional<std::int64_t> to_number(std::string_view);

StableHash::StableHash(std::uint64_t size, std::uint64_t key)
    : key_(key + 0x6861736865640000u + size) {}  // "hashed"

// Hashes sixteen bytes per round, keyed by the round before, as split_of() hashes tokens.
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
