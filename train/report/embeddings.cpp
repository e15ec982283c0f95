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

// How often each class goes with each token: (tokens, classes).
std::vector<std::size_t> count_classes(const TaskShape& shape, const Dataset& examples,
                                       std::size_t count, std::size_t tokens) {
  std::vector<std::size_t> counts(tokens * shape.classes);
  for (std::size_t e = 0; e < count; ++e) {
    const Example example = examples.get(0, e);
    for (std::size_t i = 0; i < example.ids.size(); ++i) {
      const auto token = std::size_t(example.ids[i]);
      const std::size_t at = shape.output == OutputKind::tokens ? i : 0;
      if (token >= tokens || at >= example.targets.size() || example.targets[at] < 0) continue;
      ++counts[token * shape.classes + std::size_t(example.targets[at])];
    }
  }
  return counts;
}

}  // namespace

std::optional<EmbeddingMap> map_embeddings(const Tensor<double>& embeddings, const TaskShape& shape,
                                           const Dataset& examples, std::size_t count) {
  const std::size_t tokens = std::min(kMostTokens, shape.vocabulary), classes = shape.classes;
  if (tokens < 3 || embeddings.shape()[1] < 2) return std::nullopt;
  Tensor<double> shown = empty<double>({tokens, embeddings.shape()[1]});
  std::copy_n(embeddings.data(), shown.size(), shown.data());
  const auto projection = principal_components(shown);
  if (!projection) return std::nullopt;
  EmbeddingMap map{*projection, shape.vocabulary, {}, {}, {}};
  for (std::size_t token = 0; token < tokens; ++token) {
    const bool named = token < shape.token_names.size();
    map.tokens.push_back(named ? shape.token_names[token] : std::to_string(token));
    map.colours.push_back(token % html::kColors);
  }
  if (shape.input != InputKind::tokens || shape.target != TargetKind::classes ||
      shape.output == OutputKind::generated || classes > html::kColors) {
    return map;
  }
  const std::vector<std::size_t> counts = count_classes(shape, examples, count, tokens);
  for (std::size_t token = 0; token < tokens; ++token) {
    const auto first = counts.begin() + std::ptrdiff_t(token * classes);
    const auto most = std::max_element(first, first + std::ptrdiff_t(classes));
    map.colours[token] = std::size_t(most - first);
  }
  for (std::size_t c = 0; c < classes; ++c) {
    map.classes.push_back(class_text(std::int32_t(c), shape));
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
