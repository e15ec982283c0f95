#include <xgrad/train/report/sections.hpp>

#include <fmt/format.h>

#include <algorithm>

#include <xgrad/train/inspect/attention_picture.hpp>
#include <xgrad/train/report/html.hpp>

namespace xgrad::html {

namespace {

constexpr std::size_t kMostMaps = 48;

std::string words(const std::vector<std::string>& shown, const Sample& sample, bool mark) {
  std::string text;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const bool wrong = mark && i < sample.targets.size() && shown[i] != sample.targets[i];
    text +=
        (i > 0 ? " " : "") + (wrong ? "<mark>" + escape(shown[i]) + "</mark>" : escape(shown[i]));
  }
  return text;
}

// The input, and targets and predictions unless there are none.
std::string sample_box(const Sample& sample, bool judged) {
  std::string text = "<div class=\"sample\">";
  text += sample.picture.empty() ? "<dl><dt>input</dt><dd>" + escape(sample.input) + "</dd>"
                                 : "<img alt=\"the input\" src=\"" + sample.picture + "\"><dl>";
  if (!sample.targets.empty()) {
    text += "<dt>target</dt><dd>" + words(sample.targets, sample, false) + "</dd>";
  }
  if (!sample.predictions.empty()) {
    text += "<dt>model</dt><dd>" + words(sample.predictions, sample, judged) + "</dd>";
  }
  return text + "</dl></div>\n";
}

std::string boxes(const std::string& title, const std::vector<Sample>& samples, bool judged) {
  if (samples.empty()) return "";
  std::string text = "<h3>" + title + "</h3>\n<div class=\"samples\">\n";
  for (const Sample& sample : samples) text += sample_box(sample, judged);
  return text + "</div>\n";
}

}  // namespace

std::string confusion_section(const Examination& found) {
  const std::size_t n = found.names.size();
  if (n == 0 || !found.classes.has_confusion()) return "";
  std::string text =
      "<div class=\"wide\"><table class=\"matrix\">\n<tr><th scope=\"col\">target \\ model</th>";
  for (const std::string& name : found.names) {
    text += "<th scope=\"col\">" + escape(name) + "</th>";
  }
  for (std::size_t i = 0; i < n; ++i) {
    text += "</tr>\n<tr><th scope=\"row\">" + escape(found.names[i]) + "</th>";
    const double total = std::max(1.0, found.classes.recall(i).count());
    for (std::size_t j = 0; j < n; ++j) {
      const std::uint64_t count = found.classes.confusion(i, j);
      const double part = double(count) / total;
      const char* kind = part > 0.5 ? "strong" : count == 0 ? "zero" : "";
      text += fmt::format("<td class=\"{}\" style=\"--a:{:.2f}\">{}</td>", kind, part, count);
    }
  }
  return text + "</tr>\n</table></div>\n";
}

std::string samples_section(const Examination& found) {
  if (!found.judged) return boxes("Some examples", found.right, false);
  return boxes("Wrong", found.wrong, true) + boxes("Right", found.right, true);
}

std::string maps_section(const Examination& found) {
  std::size_t shown = 0, all = 0;
  std::string figures;
  for (const AttentionMap& map : found.maps) {
    for (std::size_t head = 0; head < map.probabilities.shape()[1]; ++head, ++all) {
      if (shown == kMostMaps) continue;
      ++shown;
      const std::string name = fmt::format("{}, head {}", map.path, head);
      figures += "<figure><img alt=\"attention map of " + escape(name) + "\" src=\"" +
                 uri(head_picture(map, head)) + "\"><figcaption>" + breakable(name, '.') +
                 "</figcaption></figure>\n";
    }
  }
  if (figures.empty()) return "";
  std::string text =
      "<p class=\"soft\">A row for each token that looks, a column for each that is looked at";
  if (shown < all) text += fmt::format("; the first {} of {} maps", shown, all);
  text += outputs_read(found.forced);
  return text + ".</p>\n" + sample_box(found.mapped, false) + "<div class=\"maps\">\n" + figures +
         "</div>\n";
}

std::string heads_section(const AttentionStudy& study) {
  std::string text;
  for (const LayerStudy& layer : study.layers) {
    const auto figure = [](const Metrics& metrics) { return metrics.figures()[1]; };
    std::vector<std::vector<std::string>> rows{{escape(layer.path), "entropy", "distance",
                                                "asymmetry", "loss without",
                                                escape(figure(study.metrics).name) + " without"}};
    for (std::size_t h = 0; h < layer.metrics.heads(); ++h) {
      rows[0].push_back(fmt::format("cosine with head {}", h));
      const Metrics& without = layer.without[h];
      rows.push_back({fmt::format("head {}", h), fmt::format("{:.3f}", layer.metrics.entropy(h)),
                      fmt::format("{:.2f}", layer.metrics.distance(h)),
                      fmt::format("{:.3f}", layer.metrics.asymmetry(h)),
                      fmt::format("{:.3f} ({:+.3f})", without.loss.mean(),
                                  without.loss.mean() - study.metrics.loss.mean()),
                      fmt::format("{:.4f} ({:+.4f})", figure(without).value,
                                  figure(without).value - figure(study.metrics).value)});
      for (std::size_t g = 0; g < layer.metrics.heads(); ++g) {
        rows.back().push_back(fmt::format("{:.2f}", layer.metrics.redundancy(g, h)));
      }
    }
    text += table(rows);
  }
  return text;
}

}  // namespace xgrad::html
