#include <xgrad/text/excerpt.hpp>

#include <algorithm>

namespace xgrad {

std::size_t control_length(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0xFF;
  };
  if (byte(0) < ' ' || byte(0) == 0x7F) return 1;
  return byte(0) == 0xC2 && byte(1) >= 0x80 && byte(1) < 0xA0 ? 2 : 0;
}

std::string replace_controls(std::string_view text,
                             const std::function<std::string(unsigned)>& as) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = control_length(text);
    // If the character has two bytes, the second is equal to the code point.
    result += length > 0 ? as(static_cast<unsigned char>(text[length - 1]))
                         : std::string(text.substr(0, 1));
    text.remove_prefix(std::max<std::size_t>(1, length));
  }
  return result;
}

std::string clipped(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  const auto inside = [&] { return (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80; };
  for (int i = 0; i < 3 && most > 0 && inside(); ++i) --most;  // do not cut within a character
  return std::string(text.substr(0, most)) + "...";
}

std::string excerpt(std::string_view text) {
  return '"' + replace_controls(clipped(text), [](unsigned) { return " "; }) + '"';
}

std::string joined(const std::vector<std::string>& words, const std::string& between) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) text += (i == 0 ? "" : between) + words[i];
  return text;
}

std::string few(std::vector<std::string> words, const std::string& between, std::size_t most) {
  if (words.size() > most) {
    const std::string more = "and " + std::to_string(words.size() - most) + " more";
    words.resize(most);
    words.push_back(more);
  }
  return joined(words, between);
}

}  // namespace xgrad
