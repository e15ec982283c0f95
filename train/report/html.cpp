#include <xgrad/train/report/report.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include <xgrad/text/excerpt.hpp>
#include <xgrad/text/text.hpp>

namespace xgrad::html {

std::string escape(std::string_view text) {
  static const std::map<char, std::string_view> kEntities = {
      {'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};
  std::string result;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const auto entity = kEntities.find(text[0]);
    const bool control = control_length(text) > 0 && text[0] != '\n' && text[0] != '\t';
    if (length == 0 || control || text.starts_with("\uFFFE") || text.starts_with("\uFFFF")) {
      result += "\uFFFD";
    } else {
      result += entity == kEntities.end() ? text.substr(0, length) : entity->second;
    }
    text.remove_prefix(std::max<std::size_t>(1, length));
  }
  return result;
}

std::string breakable(std::string_view text, char after) {
  std::string result;
  for (const char c : escape(text)) {
    result += c;
    if (c == after) result += "<wbr>";
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

std::string bar(double fraction) {
  return fmt::format("<span class=\"bar\" style=\"--a:{0:.4f}\">{0:.4f}</span>", fraction);
}

std::string uri(const Picture& picture) {
  return "data:image/png;base64," + to_base64(to_png(picture));
}

}  // namespace xgrad::html
