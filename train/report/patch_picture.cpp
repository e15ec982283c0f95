#include <xgrad/train/report/patch_picture.hpp>

#include <fmt/format.h>

#include <algorithm>

#include <xgrad/data/text/text.hpp>
#include <xgrad/train/report/html.hpp>

namespace xgrad::html {

namespace {

constexpr double kCellWidth = 48, kCellHeight = 24, kCharacter = 7.3;  // in SVG units
constexpr double kTop = 56, kMargin = 12;

std::string text_at(double x, double y, const char* anchor, const std::string& style,
                    const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y,
                     anchor, style, escape(text));
}

std::string cell(double x, double y, double value, const std::string& title) {
  const double a = std::min(1.0, std::abs(value));
  const double blue[] = {8, 48, 107}, orange[] = {166, 54, 3};
  int rgb[3];
  for (int i = 0; i < 3; ++i) {
    rgb[i] = int(255 + a * ((value < 0 ? orange : blue)[i] - 255));
  }
  return fmt::format(
             "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:g}\" height=\"{:g}\" "
             "fill=\"#{:02x}{:02x}{:02x}\"><title>{}</title></rect>\n",
             x, y, kCellWidth, kCellHeight, rgb[0], rgb[1], rgb[2], escape(title)) +
         text_at(x + kCellWidth / 2, y + 16, "middle", a > 0.5 ? " fill=\"#fff\"" : "",
                 restored_text(value));
}

}  // namespace

std::string patch_picture(const Patching& patching, const std::vector<std::string>& tokens) {
  const std::size_t rows = patching.sites.size(), columns = patching.restored.shape()[1];
  std::size_t longest = 0;
  for (const std::string& site : patching.sites) longest = std::max(longest, site.size());
  const double left = kMargin + kCharacter * double(longest) + 8;
  const double height = kTop + kCellHeight * double(rows) + kMargin;
  const std::string title = fmt::format("{} at output {}: what each activation brings back",
                                        patching.measure, patching.output);
  const double width =
      std::max(left + kCellWidth * double(columns), kMargin + kCharacter * double(title.size())) +
      kMargin;
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "width=\"{0:.0f}\" height=\"{1:.0f}\" font-family=\"monospace\" font-size=\"12\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
      width, height);
  text += text_at(kMargin, 20, "start", "", title);
  const auto column = [&](std::size_t p) { return left + kCellWidth * double(p); };
  for (std::size_t p = 0; p < columns && p < tokens.size(); ++p) {
    text += text_at(column(p) + kCellWidth / 2, kTop - 8, "middle", "", tokens[p]);
  }
  for (std::size_t s = 0; s < rows; ++s) {
    const double y = kTop + kCellHeight * double(s);
    text += text_at(left - 8, y + 16, "end", "", patching.sites[s]);
    for (std::size_t p = 0; p < columns; ++p) {
      const std::string where = p < tokens.size() ? tokens[p] : std::to_string(p);
      text += cell(column(p), y, patching.restored(s, p), patching.sites[s] + ", " + where);
    }
  }
  return text + "</svg>\n";
}

}  // namespace xgrad::html
