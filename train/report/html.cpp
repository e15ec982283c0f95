#include <xgrad/train/report/report.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include <xgrad/data/excerpt.hpp>
#include <xgrad/data/text/text.hpp>

namespace xgrad::html {

namespace {

constexpr double kWidth = 400, kHeight = 250;  // size of a chart in SVG units
constexpr double kLeft = 52, kRight = 10, kTop = 8, kBottom = 28;
constexpr std::size_t kMostPoints = 300;
constexpr double kSpansMuch = 30;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Axis {
  double from = 0, to = 1;  // range in the chart
  bool logarithmic = false;
  double low = kInfinity, high = -kInfinity;

  void include(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool spans(double factor) const { return low > 0 && high > factor * low; }
  double operator()(double value) const {
    const auto f = [this](double v) { return logarithmic ? std::log(v) : v; };
    const double span = f(high) - f(low);
    return from +
           (to - from) * (span > 0 ? (f(std::clamp(value, low, high)) - f(low)) / span : 0.5);
  }
  std::vector<double> ticks(double count) const {
    std::vector<double> values;
    const bool few = high / low < 1000;
    double decade = logarithmic ? std::pow(10, std::floor(std::log10(low))) : kInfinity;
    for (; decade <= high; decade *= 10) {
      for (double factor : {1.0, 2.0, 5.0}) {
        const double value = decade * factor;
        if ((few || factor == 1) && value >= low && value <= high) values.push_back(value);
      }
    }
    if (logarithmic) return values;
    const double rough = std::max((high - low) / count, 1e-12 * std::max(1.0, std::abs(high)));
    const double power = std::pow(10, std::floor(std::log10(rough))), part = rough / power;
    const double step = power * (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10);
    for (double k = std::ceil(low / step); k * step <= high * (1 + 1e-12) + 1e-12 * step; ++k) {
      values.push_back(k == 0 ? 0 : k * step);
    }
    return values;
  }
};

std::string text_at(double x, double y, const char* anchor, const std::string& text,
                    const std::string& style = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y,
                     anchor, style, escape(text));
}

std::string axes(const Axis& x, const Axis& y) {
  std::string text;
  for (double value : y.ticks(5)) {
    text += fmt::format(
        "<line class=\"grid\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>", kLeft,
        kWidth - kRight, y(value), y(value));
    text += text_at(kLeft - 5, y(value) + 4, "end", fmt::format("{:.4g}", value));
  }
  for (double value : x.ticks(4)) {
    const bool last = x(value) > kWidth - kRight - 15;  // a centered label would be cut off
    text += text_at(
        last ? kWidth - 1.0 : x(value), kHeight - kBottom + 18, last ? "end" : "middle",
        value >= 10000 ? fmt::format("{:.4g}k", value / 1000) : fmt::format("{:.4g}", value));
  }
  return text;
}

std::string look_of(std::size_t look) {
  return fmt::format("c{} d{}", look % kColors, look / kColors);
}

std::string drawn(const ChartLine& line, const std::vector<ChartPoint>& points, const Axis& x,
                  const Axis& y) {
  if (points.empty()) return "";
  std::string path, upper, lower, circles;
  bool errors = false;
  const auto place = [&](const ChartPoint& p, double height) {
    return fmt::format("{:.1f},{:.1f} ", x(p.x), y(height));
  };
  for (const ChartPoint& p : points) {
    path += place(p, p.y);
    upper += place(p, p.y + p.error);
    const double low = p.y - p.error;
    lower = place(p, y.logarithmic ? std::max(low, y.low) : low) + lower;
    errors = errors || p.error > 0;
    circles += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\"/>", x(p.x), y(p.y));
  }
  return "<g class=\"" + look_of(line.look) + "\"><title>" + escape(line.name) + "</title>\n" +
         (errors ? "<polygon class=\"band\" points=\"" + upper + lower + "\"/>\n" : "") +
         "<polyline points=\"" + path + "\"/>\n" + (points.size() <= 40 ? circles : "") + "</g>\n";
}

// The axes and lines of a chart; empty if there is nothing to draw. The horizontal axis is
// logarithmic if x covers more than this factor.
std::string body(const std::vector<ChartLine>& lines, double most_x) {
  Axis x{kLeft, kWidth - kRight}, y{kHeight - kBottom, kTop}, all = y;
  for (const ChartLine& line : lines) {
    for (const ChartPoint& p : line.points) {
      x.include(p.x);
      all.include(p.y);
    }
  }
  x.logarithmic = x.spans(most_x);
  y.logarithmic = all.spans(kSpansMuch);
  x.low = kInfinity, x.high = -kInfinity;
  std::vector<std::vector<ChartPoint>> points;  // those that are drawn
  for (const ChartLine& line : lines) {
    std::vector<ChartPoint>& kept = points.emplace_back();
    const std::size_t all_points = line.points.size();
    for (std::size_t i = 0; i < all_points; ++i) {
      const ChartPoint& p = line.points[i];
      const bool chosen =
          i % ((all_points + kMostPoints - 1) / kMostPoints) == 0 || i + 1 == all_points;
      if (!chosen || !std::isfinite(p.y) || (y.logarithmic && p.y <= 0)) continue;
      kept.push_back(p);
      x.include(p.x);
      y.include(p.y);
      const double low = p.y - p.error;
      y.include(p.y + p.error);
      if (!y.logarithmic || low > 0.3 * p.y) y.include(low);
    }
  }
  if (!(x.low <= x.high)) return "";
  if (y.low == y.high && !y.logarithmic) {
    const double room = std::max(1e-3, std::abs(y.low) * 0.05);
    y.include(y.low - room);
    y.include(y.high + room);
  }
  std::string text = axes(x, y);
  for (std::size_t i = 0; i < lines.size(); ++i) text += drawn(lines[i], points[i], x, y);
  return text;
}

constexpr double kCellWidth = 48, kCellHeight = 24, kCharacter = 7.3;  // in SVG units
constexpr double kNames = 56, kEdge = 12;

std::string cell(double x, double y, double value, const std::string& title) {
  const double a = std::min(1.0, std::abs(value));
  const double blue[] = {8, 48, 107}, orange[] = {166, 54, 3};
  const auto colour = [&](int i) { return int(255 + a * ((value < 0 ? orange : blue)[i] - 255)); };
  return fmt::format(
             "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:g}\" height=\"{:g}\" "
             "fill=\"#{:02x}{:02x}{:02x}\"><title>{}</title></rect>\n",
             x, y, kCellWidth, kCellHeight, colour(0), colour(1), colour(2), escape(title)) +
         text_at(x + kCellWidth / 2, y + 16, "middle", restored_text(value),
                 a > 0.5 ? " fill=\"#fff\"" : "");
}

}  // namespace

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

std::string uri(const Picture& picture) {
  return "data:image/png;base64," + to_base64(to_png(picture));
}

std::string chart(const std::string& title, const std::vector<ChartLine>& lines) {
  const std::string drawn = body(lines, kInfinity);
  if (drawn.empty()) return "";
  return fmt::format(
      "<figure><figcaption>{0}</figcaption>\n<svg viewBox=\"0 0 {1:g} {2:g}\" role=\"img\" "
      "aria-label=\"{0}\">\n{3}</svg></figure>\n",
      escape(title), kWidth, kHeight, drawn);
}

// The title stands above the chart, a line of the legend below it for each line of the chart.
std::string picture(const std::string& title, const std::vector<ChartLine>& lines) {
  constexpr double kHead = 24, kLine = 18;
  const std::string drawn = body(lines, 8);
  if (drawn.empty()) return "";
  const double height = kHead + kHeight + kLine * double(lines.size()) + 6;
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:g} {1:g}\" width=\"{2:g}\" "
      "height=\"{3:g}\" role=\"img\" aria-label=\"{4}\" font-family=\"sans-serif\">\n<style>{5}"
      "svg{{background:var(--page)}}</style>\n<rect width=\"100%\" height=\"100%\" "
      "fill=\"var(--page)\"/>\n<text x=\"{6:g}\" y=\"16\">{4}</text>\n<g "
      "transform=\"translate(0 {7:g})\">\n{8}</g>\n",
      kWidth, height, 1.5 * kWidth, 1.5 * height, escape(title), kStyle, kLeft, kHead, drawn);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const double y = kHead + kHeight + kLine * double(i) + 8;
    text += fmt::format(
        "<g class=\"{}\"><polyline points=\"{:g},{:g} {:g},{:g}\"/></g><text x=\"{:g}\" "
        "y=\"{:g}\">{}</text>\n",
        look_of(lines[i].look), kLeft, y - 4, kLeft + 26, y - 4, kLeft + 34, y,
        escape(lines[i].name));
  }
  return text + "</svg>\n";
}

std::string sample(std::size_t look) {
  return "<i class=\"" + look_of(look) + "\"></i>&nbsp;";
}

std::string legend(const std::vector<ChartLine>& lines) {
  std::string text = "<p class=\"legend\">";
  for (const ChartLine& line : lines) {
    text += "<span>" + sample(line.look) + breakable(line.name, ',') + "</span> ";
  }
  return text + "</p>\n";
}

std::string patch_picture(const Patching& patching, const std::vector<std::string>& tokens) {
  const std::size_t rows = patching.sites.size(), columns = patching.restored.shape()[1];
  std::size_t longest = 0;
  for (const std::string& site : patching.sites) longest = std::max(longest, site.size());
  const double left = kEdge + kCharacter * double(longest) + 8;
  const double height = kNames + kCellHeight * double(rows) + kEdge;
  const std::string title = fmt::format("{} at output {}: what each activation brings back",
                                        patching.measure, patching.output);
  const double width =
      std::max(left + kCellWidth * double(columns), kEdge + kCharacter * double(title.size())) +
      kEdge;
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "width=\"{0:.0f}\" height=\"{1:.0f}\" font-family=\"monospace\" font-size=\"12\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
      width, height);
  text += text_at(kEdge, 20, "start", title);
  const auto column = [&](std::size_t p) { return left + kCellWidth * double(p); };
  for (std::size_t p = 0; p < columns && p < tokens.size(); ++p) {
    text += text_at(column(p) + kCellWidth / 2, kNames - 8, "middle", tokens[p]);
  }
  for (std::size_t s = 0; s < rows; ++s) {
    const double y = kNames + kCellHeight * double(s);
    text += text_at(left - 8, y + 16, "end", patching.sites[s]);
    for (std::size_t p = 0; p < columns; ++p) {
      const std::string where = p < tokens.size() ? tokens[p] : std::to_string(p);
      text += cell(column(p), y, patching.restored(s, p), patching.sites[s] + ", " + where);
    }
  }
  return text + "</svg>\n";
}

}  // namespace xgrad::html
