#include <xgrad/train/report/report.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include <xgrad/autograd/kernels/cpu.hpp>
#include <xgrad/data/excerpt.hpp>
#include <xgrad/data/text/amounts.hpp>
#include <xgrad/train/inspect/gradcheck.hpp>
#include <xgrad/train/inspect/summary.hpp>
#include <xgrad/train/logs/history.hpp>
#include <xgrad/train/metrics/metrics.hpp>
#include <xgrad/version.hpp>

namespace xgrad {

using html::breakable, html::escape, html::kLooks, html::table;

namespace {

// Limits the time of examinations and the size of attention maps on the page.
constexpr std::size_t kMostExamined = 8;

using Groups = std::vector<RunGroup>;
using Row = std::vector<std::string>;

double loss_of(const MetricsRow* row) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  return row ? row->number("loss").value_or(kNone) : kNone;
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

void add_new(std::vector<std::string>& names, const std::string& name) {
  if (std::ranges::find(names, name) == names.end()) names.push_back(name);
}

// The heads of a table with a column for each group.
Row heads(const Groups& groups) {
  Row row{""};
  for (const RunGroup& group : groups) row.push_back(breakable(group.name, ','));
  return row;
}

// A table with a column for each group; `more` follows the metrics.
std::vector<Row> figures(const Groups& groups, const std::vector<Row>& more = {}) {
  std::vector<Row> rows{heads(groups)};
  for (const std::string split : {"validation", "test"}) {
    for (const std::string& metric : metrics_of(groups, {split})) {
      add_row(rows, metric + ", " + split, groups,
              [&](const RunGroup& group) { return with_error(group.last.at(split), metric); });
    }
  }
  rows.insert(rows.end(), more.begin(), more.end());
  if (!std::all_of(groups.begin(), groups.end(), is_one_run)) {
    add_row(rows, "runs", groups, [](const RunGroup& group) { return group.state(); });
  }
  const auto add_mean = [&](const char* name, double RunHistory::*figure, const auto& text) {
    add_row(rows, name, groups, [&](const RunGroup& group) {
      RatioMean mean;
      for (const RunHistory* run : group.averaged()) {
        if (run->*figure > 0) mean.add(run->*figure, 1);
      }
      return mean.mean() > 0 ? text(mean.mean()) : "";
    });
  };
  add_mean("time", &RunHistory::seconds, clock);
  add_mean("tokens or images a second", &RunHistory::rate,
           [](double rate) { return grouped(std::uint64_t(rate)); });
  return rows;
}

std::vector<Row> transposed(const std::vector<Row>& rows) {
  std::vector<Row> result(rows[0].size());
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) result[i].push_back(row[i]);
  }
  return result;
}

html::ChartLine line_of(const RunGroup& group, const std::string& split, const std::string& metric,
                        const std::string& name, std::size_t look) {
  html::ChartLine line{name, look, {}};
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
std::vector<html::ChartLine> lines_of(const Groups& groups, const std::string& split,
                                      const std::string& metric) {
  if (groups.size() == 1) {
    return {line_of(groups[0], "validation", metric, "validation", 0),
            line_of(groups[0], "train", metric, "train", html::kColors)};
  }
  std::vector<html::ChartLine> lines;
  for (std::size_t i = 0; i < std::min(groups.size(), kLooks); ++i) {
    lines.push_back(line_of(groups[i], split, metric, groups[i].name, i));
  }
  return lines;
}

// The run with the lowest validation loss among those that the means are over.
const RunHistory& best_run(const RunGroup& group) {
  const std::vector<const RunHistory*> runs = group.averaged();
  return **std::ranges::min_element(
      runs, {}, [](const RunHistory* run) { return loss_of(run->last("validation")); });
}

// A table of the last metrics. Several groups have a row each, in the colour of their lines. A
// single group has a row for each metric, followed by the rows of `more`, which are already HTML.
std::string results_section(const Groups& groups, const std::vector<Row>& more) {
  std::vector<Row> rows = figures(groups, more);
  const bool several = groups.size() > 1;
  for (std::size_t i = 0; several && i < std::min(groups.size(), kLooks); ++i) {
    rows[0][i + 1] = html::sample(i) + rows[0][i + 1];
  }
  if (metrics_of(groups, {"validation", "test"}).empty()) {
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

// A table of the runs of a group; empty if it has only one run.
std::string runs_section(const RunGroup& group) {
  if (is_one_run(group)) return "";
  Groups runs;
  for (const RunHistory& run : group.runs) runs.push_back(group_runs({run})[0]);
  std::vector<Row> rows = figures(runs);
  add_row(rows, "train.seed", runs,
          [](const RunGroup& run) { return std::to_string(run.runs[0].config.train.seed); });
  return "<h2>Runs of " + escape(group.name) + "</h2>\n" + table(transposed(rows));
}

// Charts of all metrics under one legend.
std::string curves_section(const Groups& groups) {
  std::string charts;
  for (const std::string& metric : metrics_of(groups, {"train", "validation"})) {
    if (groups.size() == 1) {
      charts += html::chart(metric, lines_of(groups, "", metric));
      continue;
    }
    for (const std::string split : {"validation", "train"}) {
      charts += html::chart(metric + ", " + split, lines_of(groups, split, metric));
    }
  }
  if (charts.empty()) return "<h2>Curves</h2>\n<p>No step was logged.</p>\n";
  const std::string best =
      groups.size() > kLooks ? fmt::format("The best {} are drawn. ", kLooks) : "";
  const char* const over = std::ranges::all_of(groups, is_one_run)
                               ? "validation examples"
                               : "the runs of a group, or over the validation examples of one run";
  return "<h2>Curves</h2>\n<section>\n" + html::legend(lines_of(groups, "train", "")) +
         "<div class=\"charts\">\n" + charts + "</div>\n</section>\n<p class=\"soft\">" + best +
         "The horizontal axes count steps. Bands are one standard error on either side, over " +
         over + ".</p>\n";
}

// A table of the keys in which groups differ; empty if they do not differ.
std::string settings_section(const Groups& groups) {
  std::vector<Row> rows{heads(groups)};
  for (Row& row : settings_of(groups)) {
    std::ranges::transform(row, row.begin(), escape);
    rows.push_back(std::move(row));
  }
  return rows.size() == 1 ? "" : "<h2>Settings that differ</h2>\n" + table(transposed(rows));
}

// The best run of a group and the examination of its model, or why there is none.
struct Examined {
  RunHistory record;
  Examination found = {};
  std::string why_not = {};
};

Examined look_at(const RunHistory& run, bool heads, std::size_t rank) try {
  if (rank < kMostExamined) return {run, examine(run.path, heads)};
  return {run, {}, fmt::format("only the best {} groups are examined", kMostExamined)};
} catch (const Error& error) {
  return {run, {}, error.what()};
}

std::string model_of(const Config& config) try {
  return to_text(summarize(config));
} catch (const Error& error) {
  return error.what();
}

// One sentence about the certificate of the run's gradients; empty if there is none.
std::string gradients_of(const RunHistory& run) try {
  const auto certificate = read_certificate(run.path);
  return certificate ? sentence(*certificate) : "";
} catch (const Error& error) {
  return error.what();
}

// The page that explains the model, with a link if it is beside this one, or the command for it.
std::string explained(const RunHistory& run, bool beside) {
  const std::string path = escape(run.path + "/explain.html");
  if (!std::filesystem::exists(run.path + "/explain.html")) {
    return "<pre>xgrad explain " + escape(run.path) + " --out " + path + "</pre>\n";
  }
  return "<p>" + (beside ? "<a href=\"explain.html\">The model at work</a>" : path) + "</p>\n";
}

std::string state_of(const RunHistory& run) {
  const std::string steps = grouped(run.last_step);
  if (run.state == RunHistory::State::finished) {
    return "<span class=\"state good\">finished</span> after " + steps + " steps";
  }
  if (run.state == RunHistory::State::unfinished) {
    return "<span class=\"state\">unfinished</span> at step " + steps;
  }
  return "<span class=\"state bad\">failed</span> after step " + steps + ": <span class=\"said\">" +
         escape(run.failure) + "</span>";
}

std::string tasks_of(const std::vector<RunHistory>& runs) {
  std::vector<std::string> tasks;
  for (const RunHistory& run : runs) add_new(tasks, run.config.task);
  return escape(joined(tasks));
}

// If there are several runs, only those that did not finish get a line each.
std::string header(const std::vector<RunHistory>& runs, std::size_t groups) {
  std::string text = "<h1>" + tasks_of(runs) + "</h1>\n";
  if (runs.size() > 1) {
    const std::string in = fmt::format(" in {} {}", groups, groups == 1 ? "group" : "groups");
    text += fmt::format("<p>{} runs{}: {}</p>\n", runs.size(), groups < runs.size() ? in : "",
                        RunGroup{"", runs}.state());
  }
  for (const RunHistory& run : runs) {
    if (runs.size() > 1 && run.state == RunHistory::State::finished) continue;
    text += "<p><strong>" + escape(run.name) + "</strong> " + state_of(run) + "</p>\n";
  }
  return text;
}

std::string configuration(const Examined& run, const std::string& of) {
  const auto& [record, found, why_not] = run;
  const TrainConfig& train = record.config.train;
  const std::string gradients = escape(gradients_of(record));
  return fmt::format(
      "<h2>Model{0}</h2>\n<pre>{1}</pre>\n{8}{2}<h2>Configuration{0}</h2>\n<pre>{3}</pre>\n"
      "<h2>Again{0}</h2>\n<pre>xgrad train {4}/config.toml run.dir={4}-again</pre>\n"
      "<p class=\"soft\">The same config gives the same bits on any number of threads, and on any "
      "processor with the same arithmetic.</p>\n<h2>Machine{0}</h2>\n<p>Trained in the arithmetic "
      "{5}, {6}. This page: xgrad {7}.</p>\n",
      of, escape(model_of(record.config)), gradients.empty() ? "" : "<p>" + gradients + "</p>\n",
      escape(record.config_text), escape(record.path),
      escape(found.arithmetic.empty() ? arithmetic(train.precision == "bf16") : found.arithmetic),
      train.threads > 0 ? fmt::format("{} thread(s)", train.threads) : "all its cores", kVersion,
      why_not.empty() ? explained(record, of.empty()) : "");
}

// The sections about each group and its best run. Several groups become collapsible sections.
std::string details(const Groups& groups, const std::vector<Examined>& best) {
  const bool several = groups.size() > 1;
  std::string text = several ? "<h2>Details</h2>\n" : "";
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const auto& [record, found, why_not] = best[i];
    const std::string name = escape(record.name);
    const std::string of = several || !is_one_run(groups[i]) ? ": " + name : "";
    const auto add = [&](const std::string& title, const std::string& section) {
      text += "<h2>" + title + of + "</h2>\n" + section;
    };
    if (several) {
      text += "<details><summary>" + (i < kLooks ? html::sample(i) : "") +
              breakable(groups[i].name, ',') + "</summary>\n";
    }
    text += runs_section(groups[i]);
    if (several && !found.references.empty()) {
      std::vector<Row> rows{{"", name}};
      rows.insert(rows.end(), found.references.begin(), found.references.end());
      add("For comparison", table(rows));
    }
    if (!why_not.empty()) add("Examples", "<p>There are none: " + escape(why_not) + "</p>\n");
    for (const auto& [title, section] : found.sections) add(title, section);
    text += configuration(best[i], of) + (several ? "</details>\n" : "");
  }
  return text;
}

}  // namespace

std::vector<std::string> metrics_of(const Groups& groups,
                                    std::initializer_list<std::string> splits) {
  std::vector<std::string> names;
  for (const std::string& split : splits) {
    for (const RunGroup& group : groups) {
      for (const auto& [name, value] : group.last.at(split).numbers) {
        if (!name.ends_with("_se")) add_new(names, name);
      }
    }
  }
  return names;
}

std::string report_html(const std::vector<std::string>& paths, bool heads) {
  const std::vector<RunHistory> runs = read_runs(paths);
  Groups groups = group_runs(runs);
  std::ranges::stable_sort(groups, {}, [](const RunGroup& group) {
    const auto failed =
        std::ranges::count(group.runs, RunHistory::State::failed, &RunHistory::state);
    return std::pair(failed > 0, loss_of(&group.last.at("validation")));
  });
  std::vector<Examined> best;
  for (const RunGroup& group : groups) {
    best.push_back(look_at(best_run(group), heads, best.size()));
  }
  const auto references = groups.size() == 1 ? best[0].found.references : std::vector<Row>{};
  const std::string all = fmt::format("{}, {} runs", tasks_of(runs), runs.size());
  const std::string title = "xgrad: " + (runs.size() == 1 ? escape(runs[0].name) : all);
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
         title + "</title>\n<style>" + html::kStyle + "</style>\n</head>\n<body>\n" +
         header(runs, groups.size()) + results_section(groups, references) +
         curves_section(groups) + settings_section(groups) + details(groups, best) +
         "</body>\n</html>\n";
}

}  // namespace xgrad
