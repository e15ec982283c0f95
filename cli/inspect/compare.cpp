#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include <xgrad/cli/command.hpp>
#include <xgrad/data/text/columns.hpp>
#include <xgrad/train/logs/history.hpp>
#include <xgrad/train/metrics/estimates.hpp>

namespace xgrad::commands {

namespace {

using Row = std::vector<std::string>;

std::string cell(const MetricsRow& row, const std::string& metric) {
  const auto value = row.number(metric), error = row.number(metric + "_se");
  if (!value) return "-";
  return figure_text(*value, error.value_or(NAN));
}

std::vector<Row> metrics(const std::vector<RunGroup>& groups) {
  std::vector<Row> rows;
  for (const std::string split : {"validation", "test"}) {
    for (const RunGroup& group : groups) {
      const MetricsRow& last = group.last.at(split);
      for (const auto& [metric, value] : last.numbers) {
        const std::string name = split + " " + metric;
        const auto known = [&](const Row& r) { return r[0] == name; };
        if (metric.ends_with("_se") || std::any_of(rows.begin(), rows.end(), known)) continue;
        Row row{name};
        for (const RunGroup& each : groups) row.push_back(cell(each.last.at(split), metric));
        rows.push_back(row);
      }
    }
  }
  return rows;
}

// One column per group of runs that differ by seed only, or one per run if there is only one group.
std::vector<RunGroup> columns(const std::vector<RunHistory>& runs) {
  std::vector<RunGroup> groups = group_runs(runs);
  if (groups.size() > 1) return groups;
  groups.clear();
  for (const RunHistory& run : runs) groups.push_back(group_runs({run})[0]);
  return groups;
}

std::string last_step(const RunGroup& group) {
  const auto earlier = [](const RunHistory& a, const RunHistory& b) {
    return a.last_step < b.last_step;
  };
  const auto [least, most] = std::minmax_element(group.runs.begin(), group.runs.end(), earlier);
  return least->last_step == most->last_step
             ? std::to_string(most->last_step)
             : fmt::format("{} to {}", least->last_step, most->last_step);
}

int compare(const std::vector<std::string>& paths) {
  const std::vector<RunGroup> groups = columns(read_runs(paths));
  std::vector<Row> rows{{""}, {"state"}, {"last step"}};
  for (const RunGroup& group : groups) {
    rows[0].push_back(group.name);
    rows[1].push_back(group.state());
    rows[2].push_back(last_step(group));
  }
  for (const Row& row : settings_of(groups)) rows.push_back(row);
  for (const Row& row : metrics(groups)) rows.push_back(row);
  fmt::print("{}", text_table(rows));
  return 0;
}

}  // namespace

Command compare_command() {
  const auto runs = std::make_shared<std::vector<std::string>>();
  return Command("compare", "Show how configs and results of runs differ",
                 {{"runs", "run directories", runs.get(), kRequired}},
                 [runs] { return compare(*runs); });
}

}  // namespace xgrad::commands
