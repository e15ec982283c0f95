#include <xgrad/autograd/gradcheck/gradient_report.hpp>

#include <algorithm>
#include <array>
#include <cstdio>

namespace xgrad {

namespace {

using Line = std::array<std::string, 8>;

std::string format(const char* pattern, double number) {
  std::array<char, 40> buffer;
  std::snprintf(buffer.data(), buffer.size(), pattern, number);
  return buffer.data();
}

Line line(const GradientRow& row) {
  return {row.ok() ? " " : "!",
          row.name,
          row.place,
          format("%.15e", row.analytic),
          format("%.15e", row.numeric),
          format("%.1e", row.error),
          format("%.1e", row.relative),
          std::to_string(row.probed - row.failed) + "/" + std::to_string(row.probed)};
}

}  // namespace

bool GradientReport::ok() const {
  return failures.empty() &&
         std::all_of(rows.begin(), rows.end(), [](const GradientRow& row) { return row.ok(); });
}

const GradientRow& GradientReport::worst() const {
  return *std::max_element(
      rows.begin(), rows.end(),
      [](const GradientRow& a, const GradientRow& b) { return a.severity < b.severity; });
}

std::string GradientReport::table() const {
  std::vector<Line> lines{
      {" ", "leaf", "worst at", "analytic", "numeric", "error", "of max", "passed"}};
  for (const GradientRow& row : rows) lines.push_back(line(row));

  std::array<std::size_t, 8> widths{};
  for (const Line& cells : lines) {
    for (std::size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], cells[i].size());
  }
  std::string text;
  for (const Line& cells : lines) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string padding(widths[i] - cells[i].size(), ' ');
      const bool is_text = i < 3;  // text is left-aligned, numbers are right-aligned
      text += is_text ? cells[i] + padding : padding + cells[i];
      text += i + 1 < cells.size() ? "  " : "\n";
    }
  }
  for (const std::string& failure : failures) text += "! " + failure + "\n";
  return text;
}

}  // namespace xgrad
