#include <xgrad/text/columns.hpp>

#include <algorithm>

namespace xgrad {

static std::size_t width(const std::string& text) {
  return std::size_t(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string text_table(const std::vector<std::vector<std::string>>& rows,
                       const std::vector<Align>& align, const std::string& indentation) {
  std::vector<std::size_t> widest;
  for (const auto& row : rows) {
    widest.resize(std::max(widest.size(), row.size()), 0);
    for (std::size_t i = 0; i < row.size(); ++i) widest[i] = std::max(widest[i], width(row[i]));
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line = indentation;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string room(widest[i] - width(row[i]), ' ');
      const bool left = align[std::min(i, align.size() - 1)] == Align::left;
      line += (i > 0 ? "  " : "") + (left ? row[i] + room : room + row[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string csv_line(const std::vector<std::string>& cells) {
  std::string line;
  for (const std::string& cell : cells) {
    const std::string quote = cell.find_first_of(",\"\r\n") == std::string::npos ? "" : "\"";
    line += (&cell == &cells[0] ? "" : ",") + quote;
    for (const char c : cell) line += c == '"' ? "\"\"" : std::string(1, c);
    line += quote;
  }
  return line;
}

}  // namespace xgrad
