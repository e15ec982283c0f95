// The sections of report.html on attention: a map of each head, and the study of all heads.
#include <fmt/format.h>

#include <algorithm>

#include <xgrad/text/excerpt.hpp>
#include <xgrad/train/inspect/attention_study.hpp>
#include <xgrad/train/report/report.hpp>

namespace xgrad::html {

namespace {

using Names = std::vector<std::string>;

constexpr std::size_t kMostMaps = 48;
constexpr std::size_t kMostNamed = 24;     // rows or columns that show their tokens
constexpr double kLine = 13, kTitle = 18;  // in SVG units
constexpr std::size_t kLongest = 10;       // of a token, in bytes

// The labels along one side: tokens, or numbers if there are many positions or the tokens are
// unknown. Numbers are shown in steps that leave enough space.
std::vector<std::pair<std::size_t, std::string>> labels(const Names& names, std::size_t count,
                                                        double cell) {
  std::vector<std::pair<std::size_t, std::string>> found;
  const bool named = names.size() == count && count <= kMostNamed;
  std::size_t step = 1;
  for (const std::size_t larger : {2, 5, 10, 20, 50}) {
    if (double(step) * cell < kLine) step = larger;
  }
  for (std::size_t i = 0; i < count; i += named ? 1 : step) {
    found.emplace_back(i, named ? clipped(names[i], kLongest) : std::to_string(i));
  }
  return found;
}

double width_of(const std::vector<std::pair<std::size_t, std::string>>& labels) {
  double most = 0;
  for (const auto& [at, text] : labels) most = std::max(most, text_width(text));
  return most;
}

std::string map_figure(const AttentionMap& map, std::size_t head, const Names& queries,
                       const Names& keys) {
  const std::size_t rows = map.probabilities.shape()[2], columns = map.probabilities.shape()[3];
  const std::size_t longer = std::max(rows, columns);
  const double cell = longer <= kMostNamed ? std::clamp(200.0 / double(longer), kLine + 1, 24.0)
                                           : 340.0 / double(longer);
  const auto left = labels(queries, rows, cell), top = labels(keys, columns, cell);
  const bool turned = width_of(top) > cell;  // column names that are wider than a column
  const double x = kTitle + width_of(left) + 6;
  const double y = kTitle + (turned ? width_of(top) : kLine) + 4;
  const double width = cell * double(columns), height = cell * double(rows);
  std::string text = fmt::format(
      "<figure><svg style=\"width:{0:.0f}px\" viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\" "
      "aria-label=\"attention map of {2}, head {3}\">\n<image x=\"{4:.1f}\" y=\"{5:.1f}\" "
      "width=\"{6:.1f}\" height=\"{7:.1f}\" preserveAspectRatio=\"none\" href=\"{8}\"/>\n",
      x + width + 8, y + height + 4, escape(map.path), head, x, y, width, height,
      uri(head_picture(map, head)));
  text += axis_title(11, y + height / 2, "query", /*turned=*/true);
  text += axis_title(x + width / 2, 11, "key");
  for (const auto& [i, name] : left) {
    text += text_at(x - 5, y + cell * (double(i) + 0.5) + 4, "end", name);
  }
  for (const auto& [i, name] : top) {
    const double middle = x + cell * (double(i) + 0.5);
    text += turned ? text_at(-y + 5, middle + 4, "start", name, " transform=\"rotate(-90)\"")
                   : text_at(middle, y - 5, "middle", name);
  }
  return text + fmt::format("</svg><figcaption>head {}</figcaption></figure>\n", head);
}

}  // namespace

std::string maps_section(const std::vector<AttentionMap>& maps, const Example& example,
                         const TaskShape& shape, const std::string& box) {
  std::size_t all = 0;
  std::string figures;
  for (const AttentionMap& map : maps) {
    const std::size_t heads = map.probabilities.shape()[1];
    const std::size_t shown = std::min(heads, kMostMaps - std::min(all, kMostMaps));
    all += heads;
    if (shown == 0) continue;
    const auto [queries, keys] = map_names(map, example, shape);
    figures += "<h3>" + breakable(map.path, '.') + "</h3>\n<div class=\"maps\">\n";
    for (std::size_t h = 0; h < shown; ++h) figures += map_figure(map, h, queries, keys);
    figures += "</div>\n";
  }
  if (figures.empty()) return "";
  return fmt::format(
      "<p class=\"soft\">Rows are queries, columns are keys: the token of a row attends to the "
      "tokens of the columns. White is weight 0, dark blue the largest weight of the "
      "map{}{}.</p>\n{}{}",
      all > kMostMaps ? fmt::format("; the first {} of {} maps", kMostMaps, all) : "",
      outputs_read(shape.output == OutputKind::generated), box, figures);
}

std::string heads_section(const AttentionStudy& study) {
  std::string text;
  const std::vector<Figure> whole = study.metrics.figures();
  for (const LayerStudy& layer : study.layers) {
    std::vector<std::vector<std::string>> rows{{escape(layer.path), "entropy", "distance",
                                                "asymmetry", "loss without",
                                                escape(whole[1].name) + " without"}};
    for (std::size_t h = 0; h < layer.metrics.heads(); ++h) {
      rows[0].push_back(fmt::format("cosine with head {}", h));
      const std::vector<Figure> without = layer.without[h].figures();
      const double loss = without[0].value, other = without[1].value;
      rows.push_back({fmt::format("head {}", h), fmt::format("{:.3f}", layer.metrics.entropy(h)),
                      fmt::format("{:.2f}", layer.metrics.distance(h)),
                      fmt::format("{:.3f}", layer.metrics.asymmetry(h)),
                      fmt::format("{:.3f} ({:+.3f})", loss, loss - whole[0].value),
                      fmt::format("{:.4f} ({:+.4f})", other, other - whole[1].value)});
      for (std::size_t g = 0; g < layer.metrics.heads(); ++g) {
        rows.back().push_back(fmt::format("{:.2f}", layer.metrics.redundancy(g, h)));
      }
    }
    text += table(rows);
  }
  return text;
}

}  // namespace xgrad::html
