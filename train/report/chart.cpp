#include <xgrad/train/report/report.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <xgrad/text/amounts.hpp>
#include <xgrad/text/excerpt.hpp>

namespace xgrad::html {

namespace {

constexpr double kWidth = 400, kHeight = 262;  // size of a chart in SVG units
constexpr double kLeft = 62, kRight = 10, kTop = 8, kBottom = 40;
constexpr double kInside = 24;  // room beside the first and last of named places
constexpr double kClose = 34;   // names of places nearer than this would touch
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

std::string axes(const Chart& chart, const Axis& x, const Axis& y) {
  std::string text;
  for (double value : y.ticks(5)) {
    text += fmt::format(
        "<line class=\"grid\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>", kLeft,
        kWidth - kRight, y(value), y(value));
    text += text_at(kLeft - 5, y(value) + 4, "end", fmt::format("{:.4g}", value));
  }
  constexpr double kUnder = kHeight - kBottom + 16;
  double before = -kInfinity;
  for (const auto& [value, name] : chart.places) {
    if (x(value) - before < kClose) continue;
    before = x(value);
    text += text_at(before, kUnder, "middle", name);
  }
  for (double value : chart.places.empty() ? x.ticks(4) : std::vector<double>{}) {
    const bool last = x(value) > kWidth - kRight - 15;  // a centered label would be cut off
    text += text_at(
        last ? kWidth - 1.0 : x(value), kUnder, last ? "end" : "middle",
        value >= 10000 ? fmt::format("{:.4g}k", value / 1000) : fmt::format("{:.4g}", value));
  }
  return text + axis_title((kLeft + kWidth - kRight) / 2, kHeight - 5, chart.x) +
         axis_title(13, (kTop + kHeight - kBottom) / 2, clipped(chart.y), /*turned=*/true);
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

// Every k-th point and the last one, at most about kMostPoints, without points that are not finite.
std::vector<ChartPoint> thinned(const std::vector<ChartPoint>& points, bool positive) {
  std::vector<ChartPoint> kept;
  const std::size_t every = (points.size() + kMostPoints - 1) / kMostPoints;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const bool chosen = i % every == 0 || i + 1 == points.size();
    const double y = points[i].y;
    if (chosen && std::isfinite(y) && (!positive || y > 0)) kept.push_back(points[i]);
  }
  return kept;
}

// A dashed line at the best point, a ring around it, and its name.
std::string mark(const ChartPoint& best, const Axis& x, const Axis& y) {
  const std::string name = fmt::format("best: step {}", grouped(std::uint64_t(best.x)));
  const double at = x(best.x);
  const bool late = at > (kLeft + kWidth) / 2;
  return fmt::format(
             "<g class=\"best\"><title>{}, {:.6g}</title>\n<path d=\"M{:.1f} {:g}V{:g}\"/><circle "
             "cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4.5\"/>\n",
             name, best.y, at, kTop, kHeight - kBottom, at, y(best.y)) +
         text_at(at + (late ? -6 : 6), kTop + 9, late ? "end" : "start", name) + "</g>\n";
}

// The axes and lines of a chart; empty if there is nothing to draw.
std::string body(const Chart& chart) {
  const double room = chart.places.empty() ? 0 : kInside;
  Axis x{kLeft + room, kWidth - kRight - room}, y{kHeight - kBottom, kTop}, all = y;
  for (const ChartLine& line : chart.lines) {
    for (const ChartPoint& p : line.points) {
      x.include(p.x);
      all.include(p.y);
    }
  }
  x.logarithmic = x.spans(chart.logarithmic_from);
  y.logarithmic = all.spans(kSpansMuch);
  x.low = kInfinity, x.high = -kInfinity;
  std::vector<std::vector<ChartPoint>> points;  // the points that are drawn
  for (const ChartLine& line : chart.lines) {
    for (const ChartPoint& p : points.emplace_back(thinned(line.points, y.logarithmic))) {
      x.include(p.x);
      y.include(p.y);
      const double low = p.y - p.error;
      y.include(p.y + p.error);
      if (!y.logarithmic || low > 0.3 * p.y) y.include(low);
    }
  }
  if (!(x.low <= x.high)) return "";
  if (y.low == y.high && !y.logarithmic) {
    const double around = std::max(1e-3, std::abs(y.low) * 0.05);
    y.include(y.low - around);
    y.include(y.high + around);
  }
  std::string text = axes(chart, x, y);
  for (std::size_t i = 0; i < points.size(); ++i) text += drawn(chart.lines[i], points[i], x, y);
  return text + (chart.best ? mark(*chart.best, x, y) : "");
}

// The rules of the style sheet for drawings, with colours in place of variables, because not every
// program that shows SVG supports variables.
std::string drawing_style() {
  const std::string_view style = kStyle;
  const std::size_t begin = style.find("/* drawings */"), end = style.find("/* pages */");
  const auto scheme = [&](std::size_t colours) {  // the colours that are defined after this place
    std::string text;
    for (std::size_t at = begin; at < end;) {
      const std::size_t use = std::min(style.find("var(", at), end);
      text += style.substr(at, use - at);
      at = use;
      if (use == end) break;
      const std::string_view name = style.substr(use + 4, style.find(')', use) - use - 4);
      const std::size_t value = style.find(std::string(name) + ":", colours) + name.size() + 1;
      text += style.substr(value, style.find_first_of(";}", value) - value);
      at = use + 5 + name.size();
    }
    return text;
  };
  return "svg{color-scheme:light dark}" + scheme(0) +
         "@media screen and (prefers-color-scheme:dark){" + scheme(style.find("@media screen")) +
         "}";
}

constexpr double kCellWidth = 48, kCellHeight = 24, kCharacter = 7.3;  // in SVG units
constexpr double kNames = 72, kEdge = 12;

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

std::string text_at(double x, double y, const char* anchor, const std::string& text,
                    const char* more) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y,
                     anchor, more, escape(text));
}

double text_width(std::string_view text) {
  return 6.6 * double(std::ranges::count_if(
                   text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string axis_title(double x, double y, const std::string& text, bool turned) {
  return turned ? text_at(-y, x, "middle", text, " class=\"axis\" transform=\"rotate(-90)\"")
                : text_at(x, y, "middle", text, " class=\"axis\"");
}

std::string chart(const Chart& chart) {
  const std::string drawn = body(chart);
  if (drawn.empty()) return "";
  return fmt::format(
      "<figure><figcaption>{0}</figcaption>\n<svg viewBox=\"0 0 {1:g} {2:g}\" role=\"img\" "
      "aria-label=\"{0}\">\n{3}</svg>{4}</figure>\n",
      escape(chart.title), kWidth, kHeight, drawn,
      chart.note.empty() ? "" : "<p class=\"soft\">" + escape(chart.note) + "</p>");
}

std::string sparkline(const std::string& title, const std::vector<ChartPoint>& points) {
  constexpr double kWide = 120, kHigh = 24, kRoom = 3;
  Axis x{kRoom, kWide - kRoom}, y{kHigh - kRoom, kRoom};
  const std::vector<ChartPoint> kept = thinned(points, false);
  for (const ChartPoint& p : kept) {
    x.include(p.x);
    y.include(p.y);
  }
  std::string path;
  for (const ChartPoint& p : kept) path += fmt::format("{:.1f},{:.1f} ", x(p.x), y(p.y));
  return fmt::format(
      "<svg class=\"spark c0\" viewBox=\"0 0 {:g} {:g}\" role=\"img\"><title>{}</title><polyline "
      "points=\"{}\"/></svg>",
      kWide, kHigh, escape(title), path);
}

// The title is above the chart. The legend is below it, with one row for each line of the chart.
std::string picture(const Chart& chart) {
  constexpr double kHead = 24, kLine = 18;
  const std::string drawn = body(chart);
  if (drawn.empty()) return "";
  const double height = kHead + kHeight + kLine * double(chart.lines.size()) + 10;
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:g} {1:g}\" width=\"{2:g}\" "
      "height=\"{3:g}\" role=\"img\" aria-label=\"{4}\" font-family=\"sans-serif\">\n<style>{5}"
      "</style>\n<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n<text x=\"{6:g}\" "
      "y=\"16\">{4}</text>\n<g transform=\"translate(0 {7:g})\">\n{8}</g>\n",
      kWidth, height, 1.5 * kWidth, 1.5 * height, escape(chart.title), drawing_style(), kLeft,
      kHead, drawn);
  for (std::size_t i = 0; i < chart.lines.size(); ++i) {
    const double y = kHead + kHeight + kLine * double(i) + 12;
    text += fmt::format(
        "<g class=\"{}\"><polyline points=\"{:g},{:g} {:g},{:g}\"/></g><text x=\"{:g}\" "
        "y=\"{:g}\">{}</text>\n",
        look_of(chart.lines[i].look), kLeft, y - 4, kLeft + 26, y - 4, kLeft + 34, y,
        escape(chart.lines[i].name));
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
  const std::string title = fmt::format("{} at output {}: what each activation restores",
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
  text += text_at(left - 8, kNames - 8, "end", "activation");
  text += text_at(left + 8, kNames - 26, "start", "position");
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
