#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include <xgrad/cli/command.hpp>
#include <xgrad/data/text/columns.hpp>
#include <xgrad/train/metrics/record.hpp>

namespace xgrad::commands {

namespace {

using Row = std::vector<std::string>;

// A row for each key in which a run differs from the first.
std::vector<Row> configs(const std::vector<RunRecord>& runs) {
  std::vector<Row> rows;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    for (const ConfigDifference& difference : differences(runs[0].config, runs[i].config)) {
      auto at = std::find_if(rows.begin(), rows.end(),
                             [&](const Row& row) { return row[0] == difference.key; });
      if (at == rows.end()) {
        rows.emplace_back(runs.size() + 1, difference.before);
        at = rows.end() - 1;
        at->front() = difference.key;
      }
      (*at)[i + 1] = difference.after;
    }
  }
  return rows;
}

std::string cell(const MetricsRow* row, const std::string& metric) {
  const auto value = row ? row->number(metric) : std::nullopt;
  const auto error = row ? row->number(metric + "_se") : std::nullopt;
  return value && error ? fmt::format("{:.4f} ± {:.4f}", *value, *error) : "-";
}

std::vector<Row> metrics(const std::vector<RunRecord>& runs) {
  std::vector<Row> rows;
  for (const std::string split : {"validation", "test"}) {
    for (const RunRecord& run : runs) {
      const MetricsRow* last = run.last(split);
      for (std::size_t i = 0; last && i < last->numbers.size(); ++i) {
        const std::string& metric = last->numbers[i].first;
        const std::string name = split + " " + metric;
        const auto known = [&](const Row& r) { return r[0] == name; };
        if (!last->number(metric + "_se") || std::any_of(rows.begin(), rows.end(), known)) continue;
        Row row{name};
        for (const RunRecord& each : runs) row.push_back(cell(each.last(split), metric));
        rows.push_back(row);
      }
    }
  }
  return rows;
}

}  // namespace

int compare(const std::vector<std::string>& paths) {
  std::vector<RunRecord> runs;
  for (const std::string& path : paths) runs.push_back(read_run(path));
  std::vector<Row> rows{{""}, {"state"}, {"last step"}};
  for (const RunRecord& run : runs) {
    rows[0].push_back(std::filesystem::path(run.path).filename().string());
    rows[1].push_back(run.state == RunRecord::State::finished ? "finished"
                      : run.state == RunRecord::State::failed ? "failed"
                                                              : "unfinished");
    rows[2].push_back(std::to_string(run.last_step));
  }
  for (const Row& row : configs(runs)) rows.push_back(row);
  for (const Row& row : metrics(runs)) rows.push_back(row);
  fmt::print("{}", text_table(rows));
  return 0;
}

}  // namespace xgrad::commands
