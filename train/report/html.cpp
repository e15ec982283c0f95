#include <xgrad/train/report/html.hpp>

#include <algorithm>

namespace xgrad::html {

namespace {

// The length of the UTF-8 sequence at the beginning of a text; 0 where there is none (Unicode 15,
// table 3-7).
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xC2 && first <= 0xDF   ? 2
                             : first >= 0xE0 && first <= 0xEF ? 3
                             : first >= 0xF0 && first <= 0xF4 ? 4
                                                              : 0;
  if (length == 0 || text.size() < length) return 0;
  const unsigned char low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned char high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (byte(1) < low || byte(1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  return length;
}

// RFC 4648
std::string base64(const std::string& bytes) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      text += k <= count ? digits[group >> (18 - 6 * k) & 63] : '=';
    }
  }
  return text;
}

}  // namespace

std::string escape(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    const char c = text[0];
    if (length == 0 || (length == 1 && (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) &&
                        c != '\n' && c != '\t')) {
      result += "\uFFFD";
    } else if (c == '&' || c == '<' || c == '>' || c == '"' || c == '\'') {
      result += c == '&'   ? "&amp;"
                : c == '<' ? "&lt;"
                : c == '>' ? "&gt;"
                : c == '"' ? "&quot;"
                           : "&#39;";
    } else {
      result += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(1, length));
  }
  return result;
}

std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::string text = "<div class=\"wide\"><table>\n";
  for (const auto& row : rows) {
    const bool heads = &row == &rows.front();
    text += "<tr>";
    for (const std::string& cell : row) {
      const bool head = heads || &cell == &row.front();
      text += head ? (heads ? "<th scope=\"col\">" : "<th scope=\"row\">") + cell + "</th>"
                   : "<td>" + cell + "</td>";
    }
    text += "</tr>\n";
  }
  return text + "</table></div>\n";
}

std::string uri(const Picture& picture) {
  return "data:image/png;base64," + base64(to_png(picture));
}

}  // namespace xgrad::html
