#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include <xgrad/data/text/amounts.hpp>
#include <xgrad/train/metrics/estimates.hpp>
#include <xgrad/train/report/chart.hpp>
#include <xgrad/train/report/html.hpp>
#include <xgrad/train/report/sections.hpp>

namespace xgrad::html {

namespace {

using Groups = std::vector<RunGroup>;
using Row = std::vector<std::string>;

double loss_of(const MetricsRow* row) {
  return (row ? row->number("loss") : std::nullopt)
      .value_or(std::numeric_limits<double>::infinity());
}

bool has_failed(const RunHistory& run) {
  return run.state == RunHistory::State::failed;
}

bool is_one_run(const RunGroup& group) {
  return group.runs.size() == 1;
}

// Adds a row to the table: value(group) for each group. Leaves it out if all values are empty.
template <class Value>
void add_row(std::vector<Row>& rows, const std::string& name, const Groups& groups,
             const Value& value) {
  Row row{escape(name)};
  bool any = false;
  for (const RunGroup& group : groups) {
    const std::string cell = value(group);
    any = any || !cell.empty();
    row.push_back(cell.empty() ? "–" : escape(cell));
  }
  if (any) rows.push_back(row);
}

std::string with_error(const MetricsRow& row, const std::string& metric) {
  const auto value = row.number(metric), error = row.number(metric + "_se");
  if (!value) return "";
  return fmt::format("{:.4f}", *value) + (error ? fmt::format(" ±\u00A0{:.4f}", *error) : "");
}

// Adds the metrics of a split that are not in `names` yet, in the order of the rows.
void add_metrics(std::vector<std::string>& names, const Groups& groups, const std::string& split) {
  for (const RunGroup& group : groups) {
    for (const auto& [name, value] : group.last.at(split).numbers) {
      if (name.ends_with("_se")) continue;
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
}

double mean_of(const RunGroup& group, double RunHistory::*figure) {
  RatioMean mean;
  for (const RunHistory* run : group.averaged()) {
    if (run->*figure > 0) mean.add(run->*figure, 1);
  }
  return mean.count() > 0 ? mean.mean() : 0;
}

// A table with a column for each group; `more` follows the metrics.
std::vector<Row> figures(const Groups& groups, const std::vector<Row>& more = {}) {
  std::vector<Row> rows{{""}};
  for (const RunGroup& group : groups) rows[0].push_back(breakable(group.name, ','));
  for (const std::string split : {"validation", "test"}) {
    std::vector<std::string> names;
    add_metrics(names, groups, split);
    for (const std::string& metric : names) {
      add_row(rows, metric + ", " + split, groups,
              [&](const RunGroup& group) { return with_error(group.last.at(split), metric); });
    }
  }
  rows.insert(rows.end(), more.begin(), more.end());
  if (!std::all_of(groups.begin(), groups.end(), is_one_run)) {
    add_row(rows, "runs", groups, [](const RunGroup& group) { return group.state(); });
  }
  add_row(rows, "time", groups, [](const RunGroup& group) {
    const double seconds = mean_of(group, &RunHistory::seconds);
    return seconds > 0 ? clock(seconds) : "";
  });
  add_row(rows, "tokens or images a second", groups, [](const RunGroup& group) {
    const double rate = mean_of(group, &RunHistory::rate);
    return rate > 0 ? grouped(std::uint64_t(rate)) : "";
  });
  return rows;
}

std::vector<Row> transposed(const std::vector<Row>& rows) {
  std::vector<Row> result(rows[0].size());
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) result[i].push_back(row[i]);
  }
  return result;
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

// A line for each group; for a single group, a line for each split.
std::vector<ChartLine> lines_of(const Groups& groups, const std::string& split,
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

}  // namespace

void sort_groups(std::vector<RunGroup>& groups) {
  const auto rank = [](const RunGroup& group) {
    return std::pair(std::any_of(group.runs.begin(), group.runs.end(), has_failed),
                     loss_of(&group.last.at("validation")));
  };
  std::stable_sort(groups.begin(), groups.end(),
                   [&](const RunGroup& a, const RunGroup& b) { return rank(a) < rank(b); });
}

const RunHistory& best_run(const RunGroup& group) {
  const std::vector<const RunHistory*> runs = group.averaged();
  const auto better = [](const RunHistory* a, const RunHistory* b) {
    return loss_of(a->last("validation")) < loss_of(b->last("validation"));
  };
  return **std::min_element(runs.begin(), runs.end(), better);
}

std::string results_section(const Groups& groups, const std::vector<Row>& more) {
  std::vector<Row> rows = figures(groups, more);
  const bool several = groups.size() > 1;
  for (std::size_t i = 0; several && i < std::min(groups.size(), kLooks); ++i) {
    rows[0][i + 1] = sample(i) + rows[0][i + 1];
  }
  const auto evaluated = [](const RunGroup& group) {
    return !group.last.at("validation").numbers.empty() || !group.last.at("test").numbers.empty();
  };
  if (std::none_of(groups.begin(), groups.end(), evaluated)) {
    return "<h2>Results</h2>\n<p>Nothing was evaluated.</p>\n";
  }
  std::string notes =
      several ? "The lowest validation loss comes first, groups with failed runs last. " : "";
  notes += std::all_of(groups.begin(), groups.end(), is_one_run)
               ? "± is one standard error over the examples."
               : "Runs that differ only in train.seed form a group, of which the table shows the "
                 "mean ± its standard error over the runs. Means are over finished runs, or over "
                 "unfinished ones if none finished, or over failed ones if all failed. A mean over "
                 "one run of several has no ±. For a group of one run, ± is one standard error "
                 "over the examples.";
  return "<h2>Results</h2>\n" + table(several ? transposed(rows) : rows) + "<p class=\"soft\">" +
         notes + "</p>\n";
}

std::string runs_section(const RunGroup& group) {
  if (is_one_run(group)) return "";
  Groups runs;
  for (const RunHistory& run : group.runs) runs.push_back(group_runs({run})[0]);
  std::vector<Row> rows = figures(runs);
  add_row(rows, "train.seed", runs,
          [](const RunGroup& run) { return std::to_string(run.runs[0].config.train.seed); });
  return "<h2>Runs of " + escape(group.name) + "</h2>\n" + table(transposed(rows));
}

std::string curves_section(const Groups& groups) {
  std::vector<std::string> names;
  add_metrics(names, groups, "train");
  add_metrics(names, groups, "validation");
  std::string charts;
  for (const std::string& metric : names) {
    if (groups.size() == 1) {
      charts += chart(metric, lines_of(groups, "", metric));
      continue;
    }
    for (const std::string split : {"validation", "train"}) {
      charts += chart(metric + ", " + split, lines_of(groups, split, metric));
    }
  }
  if (charts.empty()) return "<h2>Curves</h2>\n<p>No step was logged.</p>\n";
  const std::string best =
      groups.size() > kLooks ? fmt::format("The best {} are drawn. ", kLooks) : "";
  const std::string over = std::all_of(groups.begin(), groups.end(), is_one_run)
                               ? "validation examples"
                               : "the runs of a group, or over the validation examples of one run";
  return "<h2>Curves</h2>\n<section>\n" + legend(lines_of(groups, "train", "")) +
         "<div class=\"charts\">\n" + charts + "</div>\n</section>\n<p class=\"soft\">" + best +
         "The horizontal axes count steps. Bands are one standard error on either side, over " +
         over + ".</p>\n";
}

std::string settings_section(const Groups& groups) {
  std::vector<Row> rows = settings_of(groups);
  if (rows.empty()) return "";
  for (Row& row : rows) {
    for (std::string& cell : row) cell = escape(cell);
  }
  rows.insert(rows.begin(), Row{""});
  for (const RunGroup& group : groups) rows[0].push_back(breakable(group.name, ','));
  return "<h2>Settings that differ</h2>\n" + table(transposed(rows));
}

}  // namespace xgrad::html
