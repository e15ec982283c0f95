#include <xgrad/data/excerpt.hpp>

namespace xgrad {

std::string clipped(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  const auto inside = [&] { return (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80; };
  for (int i = 0; i < 3 && most > 0 && inside(); ++i) --most;  // do not cut within a character
  return std::string(text.substr(0, most)) + "...";
}

std::string excerpt(std::string_view text) {
  std::string shown = clipped(text);
  for (char& c : shown) c = is_control(c) ? ' ' : c;
  return '"' + shown + '"';
}

std::string joined(const std::vector<std::string>& words, const std::string& between) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) text += (i == 0 ? "" : between) + words[i];
  return text;
}

}  // namespace xgrad
