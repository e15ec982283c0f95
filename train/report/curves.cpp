// The sections of report.html about the numbers in metrics.jsonl: curves, sparklines, and settings.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numbers>
#include <span>

#include <xgrad/text/amounts.hpp>
#include <xgrad/text/excerpt.hpp>
#include <xgrad/text/text.hpp>
#include <xgrad/train/logs/history.hpp>
#include <xgrad/train/report/report.hpp>

namespace xgrad::html {

namespace {

using Groups = std::span<const RunGroup>;

constexpr std::size_t kMostCharts = 3;     // metrics of a run that have charts
constexpr std::size_t kMostUnfolded = 12;  // rows of sparklines that are shown unfolded
constexpr std::size_t kMostPlaces = 8;     // values of a setting that are named at its axis

// A metric that Metrics::figures() may compute from another metric of the same row.
struct Repeated {
  const char *name, *from, *formula;
  double (*of)(double);
};
constexpr std::array<Repeated, 6> kRepeated = {{
    {"exact_match", "accuracy", "accuracy", [](double x) { return x; }},
    {"perplexity", "loss", "exp(loss)", [](double x) { return std::exp(x); }},
    {"bits_per_character", "loss", "loss / ln 2", [](double x) { return x / std::numbers::ln2; }},
    {"bits_per_word", "loss", "loss / ln 2", [](double x) { return x / std::numbers::ln2; }},
    {"mae", "loss", "loss", [](double x) { return x; }},
    {"rmse", "loss", "sqrt(loss)", [](double x) { return std::sqrt(x); }},
}};

bool repeats(const MetricsRow& row, const Repeated& repeated) {
  const auto own = row.number(repeated.name), other = row.number(repeated.from);
  return !own || (other && std::abs(*own - repeated.of(*other)) <= 1e-9 * std::abs(*own));
}

Groups one(const RunGroup& group) {
  return {&group, 1};
}

bool is_one_run(const RunGroup& group) {
  return group.runs.size() == 1;
}

ChartLine line_of(const RunGroup& group, const std::string& split, const std::string& metric,
                  const std::string& name, std::size_t look) {
  ChartLine line{name, look, {}};
  const bool errors = split == "validation" || !is_one_run(group);
  for (const MetricsRow& row : group.rows.at(split)) {
    const double error = errors ? row.number(metric + "_se").value_or(0) : 0;
    if (const auto value = row.number(metric)) {
      line.points.push_back({double(row.step), *value, error});
    }
  }
  return line;
}

// A line for each of the kLooks best groups; for a single group, a line for each split.
std::vector<ChartLine> lines_of(Groups groups, const std::string& split,
                                const std::string& metric) {
  if (groups.size() == 1) {
    return {line_of(groups[0], "validation", metric, "validation", 0),
            line_of(groups[0], "train", metric, "train", kColors)};
  }
  std::vector<ChartLine> lines;
  for (std::size_t i = 0; i < std::min(groups.size(), kLooks); ++i) {
    lines.push_back(line_of(groups[i], split, metric, groups[i].name, i));
  }
  return lines;
}

// The formula, such as "exp(loss)", that gives a metric from another one in all rows of the runs
// or, with `last`, in all last rows; empty if none does.
std::string formula(Groups groups, const std::string& name, bool last) {
  const auto found = std::ranges::find(kRepeated, name, &Repeated::name);
  if (found == kRepeated.end()) return "";
  for (const RunGroup& group : groups) {
    for (const RunHistory& run : group.runs) {
      for (const MetricsRow& row : run.rows) {
        if (last && &row != run.last(row.split)) continue;
        if (!repeats(row, *found)) return "";
      }
    }
  }
  return found->formula;
}

// The lowest point of a line; nothing if there are fewer than two.
std::optional<ChartPoint> lowest(const std::vector<ChartPoint>& points) {
  if (points.size() < 2) return std::nullopt;
  return *std::ranges::min_element(points, {}, &ChartPoint::y);
}

// The metrics that get charts.
std::vector<std::string> main_metrics(Groups groups) {
  auto names = own_metrics(groups, {"validation", "train"}, /*last=*/false);
  names.resize(std::min(names.size(), kMostCharts));
  return names;
}

// "At the end, perplexity = exp(loss): 1.23.", for all metrics that are computed from this one.
std::string note_on(const RunGroup& group, const std::string& metric) {
  std::vector<std::string> notes;
  for (const Repeated& repeated : kRepeated) {
    const auto value = group.last.at("validation").number(repeated.name);
    if (metric != repeated.from || !value) continue;
    const std::string by = formula(one(group), repeated.name, /*last=*/false);
    if (!by.empty()) notes.push_back(fmt::format("{} = {}: {:.4g}", repeated.name, by, *value));
  }
  return notes.empty() ? "" : "At the end, " + joined(notes) + ".";
}

// Whether values, in ascending order, are spaced more evenly by their logarithms.
bool grow_by_factors(const std::vector<double>& values) {
  if (values.front() <= 0) return false;
  const auto spread = [&](const auto& f) {
    double least = std::numeric_limits<double>::infinity(), most = 0;
    for (std::size_t i = 1; i < values.size(); ++i) {
      const double gap = f(values[i]) - f(values[i - 1]);
      least = std::min(least, gap);
      most = std::max(most, gap);
    }
    return most / least;
  };
  return values.size() == 2
             ? values[1] >= 8 * values[0]
             : spread([](double x) { return std::log(x); }) < spread([](double x) { return x; });
}

// The places of a key's values on an axis: numbers are their own places; other values are at 0, 1,
// ...
struct Places {
  std::vector<double> of_groups;
  std::vector<std::pair<double, std::string>> named;  // in ascending order
  bool logarithmic = false;
};

Places places_of(const std::vector<std::string>& row) {  // the key, and a value for each group
  Places places;
  std::vector<std::string> values(row.begin() + 1, row.end());
  const bool numbers = std::ranges::all_of(values, [](const auto& v) { return !!to_number(v); });
  std::vector<std::string> names = values;
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  for (std::size_t i = 0; i < names.size(); ++i) {
    places.named.emplace_back(numbers ? *to_number(names[i]) : double(i), clipped(names[i], 12));
  }
  for (const std::string& value : values) {
    const auto at = std::ranges::lower_bound(names, value) - names.begin();
    places.of_groups.push_back(places.named[std::size_t(at)].first);
  }
  std::ranges::sort(places.named);
  std::vector<double> numbers_used;
  for (const auto& [at, name] : places.named) numbers_used.push_back(at);
  places.logarithmic = numbers && grow_by_factors(numbers_used);
  return places;
}

// A point for each group, in the colour of its lines, and a grey line through the means.
Chart setting_chart(Groups groups, const std::vector<std::string>& row, const std::string& metric) {
  const Places places = places_of(row);
  Chart chart{metric + " over " + row[0], row[0], metric, {{"mean", kLooks, {}}}};
  if (places.logarithmic) chart.logarithmic_from = 1;
  const bool few = places.named.size() <= kMostPlaces;
  if (few) chart.places = places.named;
  for (const auto& [at, name] : places.named) {
    double sum = 0, count = 0;
    for (std::size_t i = 0; few && i < groups.size(); ++i) {
      const auto value = groups[i].last.at("validation").number(metric);
      if (!value || places.of_groups[i] != at) continue;
      sum += *value;
      ++count;
    }
    if (count > 0) chart.lines[0].points.push_back({at, sum / count});
  }
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const auto value = groups[i].last.at("validation").number(metric);
    if (!value) continue;
    chart.lines.push_back({groups[i].name, std::min(i, kLooks), {{places.of_groups[i], *value}}});
  }
  return chart;
}

// A row for a number of a split; empty if there are no values.
std::vector<std::string> spark_row(const RunGroup& group, const std::string& split,
                                   const std::string& metric) {
  std::vector<ChartPoint> points = line_of(group, split, metric, "", 0).points;
  std::erase_if(points, [](const ChartPoint& p) { return !std::isfinite(p.y); });
  if (points.empty()) return {};
  const auto [least, most] = std::ranges::minmax_element(points, {}, &ChartPoint::y);
  std::vector<std::string> row{breakable(metric, '.') + ", " + split,
                               sparkline(metric + ", " + split, points)};
  for (const double value : {points.front().y, points.back().y, least->y, most->y}) {
    row.push_back(fmt::format("{:.4g}", value));
  }
  return row;
}

}  // namespace

std::vector<std::string> own_metrics(Groups groups, std::initializer_list<std::string> splits,
                                     bool last) {
  std::vector<std::string> names = metrics_of(groups, splits);
  std::erase_if(names, [&](const auto& name) { return !formula(groups, name, last).empty(); });
  return names;
}

std::string overfitting(const RunGroup& group) {
  const auto validation = line_of(group, "validation", "loss", "", 0).points;
  const auto train = line_of(group, "train", "loss", "", 0).points;
  const auto best = lowest(validation);
  if (!best || train.empty()) return "";
  const ChartPoint& last = validation.back();
  const auto later = std::ranges::upper_bound(train, best->x, {}, &ChartPoint::x);
  if (later == train.begin() || !(last.y - best->y > std::max(2 * best->error, 0.01 * best->y)) ||
      !(train.back().y < later[-1].y)) {
    return "";
  }
  return fmt::format(
      "<p class=\"warning\"><strong>Overfitting:</strong> after step {}, the validation loss rose "
      "from {:.4f} to {:.4f}, while the training loss fell from {:.4f} to {:.4f}.</p>\n",
      grouped(std::uint64_t(best->x)), best->y, last.y, later[-1].y, train.back().y);
}

std::string curves_section(Groups groups) {
  const bool alone = groups.size() == 1;
  std::string charts;
  for (const std::string& metric : main_metrics(groups)) {
    if (alone) {
      const auto lines = lines_of(groups, "", metric);
      charts += chart({metric, "step", metric, lines,
                       metric == "loss" ? lowest(lines[0].points) : std::nullopt,
                       note_on(groups[0], metric)});
      continue;
    }
    for (const std::string split : {"validation", "train"}) {
      charts += chart({metric + ", " + split, "step", metric, lines_of(groups, split, metric)});
    }
  }
  if (charts.empty()) return "<h2>Curves</h2>\n<p>No step was logged.</p>\n";
  const std::string best =
      groups.size() > kLooks ? fmt::format("Only the best {} groups are drawn. ", kLooks) : "";
  const char* const over = std::ranges::all_of(groups, is_one_run)
                               ? "validation examples"
                               : "the runs of a group, or over the validation examples of one run";
  return "<h2>Curves</h2>\n<section>\n" + legend(lines_of(groups, "train", "")) +
         "<div class=\"charts\">\n" + charts + "</div>\n</section>\n<p class=\"soft\">" + best +
         "Bands show one standard error above and below, computed over " + over + ".</p>\n";
}

std::string numbers_section(const RunGroup& group) {
  const std::vector<std::string> drawn = main_metrics(one(group));
  std::vector<std::vector<std::string>> rows{{"", "over steps", "first", "last", "min", "max"}};
  for (const std::string& metric : own_metrics(one(group), {"train", "validation"}, false)) {
    if (std::ranges::find(drawn, metric) != drawn.end()) continue;
    for (const std::string split : {"train", "validation"}) {
      if (auto row = spark_row(group, split, metric); !row.empty()) rows.push_back(std::move(row));
    }
  }
  if (rows.size() == 1) return "";
  const std::size_t count = rows.size() - 1;
  return count <= kMostUnfolded
             ? table(rows)
             : fmt::format("<details><summary>{} numbers</summary>\n{}</details>\n", count,
                           table(rows));
}

std::vector<std::vector<std::string>> chosen_settings(Groups groups) {
  auto rows = settings_of(groups);
  std::erase_if(rows, [](const std::vector<std::string>& row) {
    std::vector<std::string> values(row.begin() + 1, row.end());
    std::erase(values, "nothing");
    return values.size() < row.size() - 1 &&
           std::ranges::adjacent_find(values, std::not_equal_to()) == values.end();
  });
  std::ranges::sort(rows);
  return rows;
}

std::string settings_section(Groups groups) {
  if (groups.size() < 3) return "";
  std::vector<std::string> metrics = own_metrics(groups, {"validation"}, /*last=*/true);
  metrics.resize(std::min<std::size_t>(metrics.size(), 2));
  std::string charts;
  for (const auto& row : chosen_settings(groups)) {
    for (const std::string& metric : metrics) charts += chart(setting_chart(groups, row, metric));
  }
  return charts.empty()
             ? ""
             : "<h2>Settings</h2>\n<div class=\"charts\">\n" + charts +
                   "</div>\n<p class=\"soft\">Each point is the last validation of a group, in the "
                   "colour of the group. The grey line joins the means for each value.</p>\n";
}

}  // namespace xgrad::html
