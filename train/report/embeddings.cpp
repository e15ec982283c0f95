#include <xgrad/train/report/embeddings.hpp>

#include <fmt/format.h>

#include <algorithm>

#include <xgrad/data/text/amounts.hpp>
#include <xgrad/data/text/example_text.hpp>
#include <xgrad/train/report/chart.hpp>
#include <xgrad/train/report/html.hpp>

namespace xgrad {

namespace {

constexpr std::size_t kMostTokens = 200;  // more names cannot be read
constexpr double kWidth = 800, kHeight = 500, kMargin = 24, kNames = 90;  // in SVG units

}  // namespace

TokenClasses::TokenClasses(const TaskShape& shape)
    : shape_(shape), tokens_(std::min(kMostTokens, shape.vocabulary)) {
  const bool by_class = shape.input == InputKind::tokens && shape.target == TargetKind::classes &&
                        shape.output != OutputKind::generated && shape.classes <= html::kColors;
  if (by_class) counts_.assign(tokens_ * shape.classes, 0);
}

void TokenClasses::add(const Example& example) {
  if (counts_.empty()) return;
  const bool each = shape_.output == OutputKind::tokens;
  for (std::size_t i = 0; i < example.ids.size(); ++i) {
    const auto token = std::size_t(example.ids[i]);
    const std::size_t at = each ? i : 0;
    if (token >= tokens_ || at >= example.targets.size() || example.targets[at] < 0) continue;
    ++counts_[token * shape_.classes + std::size_t(example.targets[at])];
  }
}

std::optional<EmbeddingMap> TokenClasses::map(const Tensor<double>& embeddings) const {
  if (tokens_ < 3 || embeddings.shape()[1] < 2) return std::nullopt;
  Tensor<double> shown = empty<double>({tokens_, embeddings.shape()[1]});
  std::copy_n(embeddings.data(), shown.size(), shown.data());
  const auto projection = principal_components(shown);
  if (!projection) return std::nullopt;
  EmbeddingMap map{*projection, shape_.vocabulary, {}, {}, {}};
  for (std::size_t token = 0; token < tokens_; ++token) {
    const bool named = token < shape_.token_names.size();
    map.tokens.push_back(named ? shape_.token_names[token] : std::to_string(token));
    const auto first = counts_.begin() + std::ptrdiff_t(token * shape_.classes);
    map.colours.push_back(
        counts_.empty()
            ? token % html::kColors
            : std::size_t(std::max_element(first, first + std::ptrdiff_t(shape_.classes)) - first));
  }
  for (std::size_t c = 0; !counts_.empty() && c < shape_.classes; ++c) {
    map.classes.push_back(class_text(std::int32_t(c), shape_));
  }
  return map;
}

namespace html {

std::string embeddings_section(const EmbeddingMap& map) {
  const Tensor<double>& points = map.projection.points;
  double left = 0, right = 0, bottom = 0, top = 0;  // the mean of all points is at 0
  for (std::size_t i = 0; i < points.shape()[0]; ++i) {
    left = std::min(left, points(i, 0)), right = std::max(right, points(i, 0));
    bottom = std::min(bottom, points(i, 1)), top = std::max(top, points(i, 1));
  }
  // One scale for both axes, so that distances can be compared.
  const double scale = std::min((kWidth - kMargin - kNames) / std::max(1e-12, right - left),
                                (kHeight - 2 * kMargin) / std::max(1e-12, top - bottom));
  std::string text = fmt::format(
      "<p class=\"soft\">The embeddings of {} tokens in the plane of their first two principal "
      "components, which hold {:.1f} % and {:.1f} % of their variance. ",
      map.tokens.size() < map.vocabulary
          ? fmt::format("the first {} of {}", map.tokens.size(), grouped(map.vocabulary))
          : fmt::format("all {}", map.tokens.size()),
      100 * map.projection.explained[0], 100 * map.projection.explained[1]);
  text += map.classes.empty() ? "Colours only tell tokens apart.</p>\n"
                              : "The colour is the class that goes with a token most often in "
                                "the examples.</p>\n";
  // Not legend(), which stays at the top of the window for the charts.
  text += "<p>";
  for (std::size_t c = 0; c < map.classes.size(); ++c) {
    text += "<span>" + sample(c) + escape(map.classes[c]) + "</span> ";
  }
  text += "</p>\n";
  text += fmt::format(
      "<figure class=\"plane\"><svg viewBox=\"0 0 {:g} {:g}\" role=\"img\" "
      "aria-label=\"token embeddings\">\n",
      kWidth, kHeight);
  for (std::size_t i = 0; i < map.tokens.size(); ++i) {
    const double x = kMargin + scale * (points(i, 0) - left);
    const double y = kMargin + scale * (top - points(i, 1));
    const std::string name = escape(map.tokens[i]);
    text += fmt::format(
        "<g class=\"c{}\"><title>{}: {:.6g}, {:.6g}</title><circle cx=\"{:.1f}\" cy=\"{:.1f}\" "
        "r=\"3\"/><text x=\"{:.1f}\" y=\"{:.1f}\">{}</text></g>\n",
        map.colours[i], name, points(i, 0), points(i, 1), x, y, x + 5, y + 4, name);
  }
  return text + "</svg></figure>\n";
}

}  // namespace html

}  // namespace xgrad
