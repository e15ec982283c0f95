#include <xgrad/train/report/report.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include <xgrad/autograd/kernels/cpu.hpp>
#include <xgrad/text/amounts.hpp>
#include <xgrad/text/excerpt.hpp>
#include <xgrad/train/inspect/gradcheck.hpp>
#include <xgrad/train/inspect/summary.hpp>
#include <xgrad/train/logs/history.hpp>
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
  return fmt::format("{:.4f}", *value) + (error ? fmt::format("\u00A0±\u00A0{:.4f}", *error) : "");
}

void add_new(std::vector<std::string>& names, const std::string& name) {
  if (std::ranges::find(names, name) == names.end()) names.push_back(name);
}

// The column headings of a table with a column for each group.
Row heads(const Groups& groups) {
  Row row{""};
  for (const RunGroup& group : groups) row.push_back(breakable(group.name, ','));
  return row;
}

std::vector<Row> transposed(const std::vector<Row>& rows) {
  std::vector<Row> result(rows[0].size());
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) result[i].push_back(row[i]);
  }
  return result;
}

// A row for each group: settings, main metrics, and time.
std::vector<Row> overview(const Groups& groups) {
  std::vector<Row> rows{heads(groups)};
  for (const Row& row : html::chosen_settings(groups)) {
    rows.push_back({breakable(row[0], '.')});
    std::ranges::transform(row.begin() + 1, row.end(), std::back_inserter(rows.back()), escape);
  }
  for (const std::string split : {"validation", "test"}) {
    std::vector<std::string> metrics = html::own_metrics(groups, {split}, /*last=*/true);
    metrics.resize(std::min<std::size_t>(metrics.size(), 2));
    for (const std::string& metric : metrics) {
      add_row(rows, split + " " + metric, groups,
              [&](const RunGroup& group) { return with_error(group.last.at(split), metric); });
    }
  }
  if (!std::ranges::all_of(groups, is_one_run)) {
    add_row(rows, "runs", groups, [](const RunGroup& group) { return group.state(); });
  }
  add_row(rows, "time", groups, [](const RunGroup& group) {
    RatioMean mean;
    for (const RunHistory* run : group.averaged()) {
      if (run->seconds > 0) mean.add(run->seconds, 1);
    }
    return mean.mean() > 0 ? clock(mean.mean()) : "";
  });
  return transposed(rows);
}

// The run with the lowest validation loss among the runs that the means include.
const RunHistory& best_run(const RunGroup& group) {
  const std::vector<const RunHistory*> runs = group.averaged();
  return **std::ranges::min_element(
      runs, {}, [](const RunHistory* run) { return loss_of(run->last("validation")); });
}

// A note that explains the sign ± in a table.
std::string note_on_errors(std::span<const RunGroup> groups) {
  return std::ranges::all_of(groups, is_one_run)
             ? "± is one standard error over the examples."
             : "Runs that differ only in train.seed form a group. The table shows the mean over "
               "its runs ± the standard error of the mean. Only finished runs count; if none "
               "finished, unfinished runs count; if all failed, failed runs count. If only one of "
               "several runs counts, its numbers have no ±. For a group of one run, ± is one "
               "standard error over the examples.";
}

std::string soft(const std::string& text) {
  return "<p class=\"soft\">" + text + "</p>\n";
}

// A table of the last metrics of one group, followed by references, which are already HTML.
std::string results_of(const RunGroup& group, const std::vector<Row>& references) {
  const std::span one(&group, 1);
  std::vector<Row> rows{{"", "validation", "test"}};
  for (const std::string& metric : html::own_metrics(one, {"validation", "test"}, true)) {
    Row& row = rows.emplace_back(Row{escape(metric)});
    for (const char* split : {"validation", "test"}) {
      const std::string cell = with_error(group.last.at(split), metric);
      row.push_back(cell.empty() ? "–" : cell);
    }
  }
  if (rows.size() == 1) return "<p>Nothing was evaluated.</p>\n";
  for (const Row& reference : references) rows.push_back({reference[0], "", reference[1]});
  return table(rows) + soft(note_on_errors(one));
}

// Whether the name of a group consists of settings that the table shows anyway, as in a sweep.
bool says_its_settings(std::string name, const std::vector<Row>& settings, std::size_t group) {
  const auto plain = [](std::string text) {
    std::erase(text, '"');
    return text;
  };
  for (const Row& row : settings) {
    const std::string part = plain(row[0] + "=" + row[group + 1]);
    if (const std::size_t at = name.find(part); at != name.npos) name.erase(at, part.size());
  }
  return !settings.empty() && name.find_first_not_of(", ") == name.npos;
}

// A table with a row for each group, in the colour of its lines.
std::string results_of(const Groups& groups) {
  std::vector<Row> rows = overview(groups);
  const std::vector<Row> settings = html::chosen_settings(groups);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (says_its_settings(groups[i].name, settings, i)) {
      rows[i + 1][0] = std::to_string(i + 1);
    }
    if (i < kLooks) rows[i + 1][0] = html::sample(i) + rows[i + 1][0];
  }
  return table(rows) +
         soft("Groups are sorted by validation loss. Groups with failed runs come last. " +
              note_on_errors(groups));
}

// A table of the runs of a group; empty if it has only one run.
std::string runs_section(const RunGroup& group) {
  if (is_one_run(group)) return "";
  Groups runs;
  for (const RunHistory& run : group.runs) runs.push_back(group_runs({run})[0]);
  return "<h2>Runs of " + escape(group.name) + "</h2>\n" + table(overview(runs));
}

// The best run of a group and the examination of its model, or why there is none.
struct Examined {
  RunHistory record;
  Examination found = {};
  std::string why_not = {};
};

Examined look_at(const RunHistory& run, bool heads, std::size_t rank) try {
  if (rank < kMostExamined) return {run, examine(run.path, heads)};
  return {
      run, {}, fmt::format("only the models of the best {} groups are evaluated", kMostExamined)};
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

// A link to explain.html if it is in the directory of this page, its path if it is elsewhere, or
// else the command that writes it.
std::string explained(const RunHistory& run, bool beside) {
  const std::string path = escape(run.path + "/explain.html");
  if (!std::filesystem::exists(run.path + "/explain.html")) {
    return "<pre>xgrad explain " + escape(run.path) + " --out " + path + "</pre>\n";
  }
  return "<p>" +
         (beside ? "<a href=\"explain.html\">How the model works, on any input</a>" : path) +
         "</p>\n";
}

std::string state_of(const RunHistory& run) {
  const std::string steps = grouped(run.last_step);
  if (run.state == RunHistory::State::finished) {
    return "<span class=\"state good\">finished</span> after " + steps + " steps" +
           (run.seconds > 0 ? " in " + clock(run.seconds) : "") +
           (run.rate > 0 ? ", " + grouped(std::uint64_t(run.rate)) + " tokens or images a second"
                         : "") +
           (run.scored_step < run.last_step ? ", best step " + grouped(run.scored_step) : "");
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

// The main metric and the loss on the test split, or on the validation split before its end.
std::string headline(const RunGroup& group) {
  const char* const split = group.last.at("test").numbers.empty() ? "validation" : "test";
  const std::vector<std::string> names = metrics_of(std::span(&group, 1), {split});
  if (names.size() < 2) return "";
  const auto figure = [&](const std::string& name) {
    return escape(name) + " <strong>" + with_error(group.last.at(split), name) + "</strong>";
  };
  return fmt::format("<p class=\"headline\">On the {} split: {}, {}.</p>\n", split,
                     figure(names[1]), figure(names[0]));
}

// If there are several runs, only unfinished and failed runs get a line each.
std::string header(const std::vector<RunHistory>& runs, const Groups& groups) {
  std::string text = "<h1>" + tasks_of(runs) + "</h1>\n";
  if (runs.size() > 1) {
    const bool grouped_runs = groups.size() < runs.size();
    const char* const noun = groups.size() == 1 ? "group" : "groups";
    const std::string in = fmt::format(" in {} {}", groups.size(), noun);
    text += fmt::format("<p>{} runs{}: {}</p>\n", runs.size(), grouped_runs ? in : "",
                        RunGroup{"", runs}.state());
  }
  for (const RunHistory& run : runs) {
    if (runs.size() > 1 && run.state == RunHistory::State::finished) continue;
    text += "<p><strong>" + escape(run.name) + "</strong> " + state_of(run) + "</p>\n";
  }
  return text + (groups.size() == 1 ? headline(groups[0]) : "");
}

std::string configuration(const Examined& run, const std::string& of) {
  const auto& [record, found, why_not] = run;
  const TrainConfig& train = record.config.train;
  const std::string gradients = escape(gradients_of(record));
  return fmt::format(
      "<h2>Model{0}</h2>\n<pre>{1}</pre>\n{8}{2}<h2>Configuration{0}</h2>\n<details>"
      "<summary>config.toml</summary>\n<pre>{3}</pre></details>\n"
      "<h2>Rerun{0}</h2>\n<pre>xgrad train {4}/config.toml run.dir={4}-again</pre>\n"
      "<p class=\"soft\">The same config gives the same bits on any number of threads, and on any "
      "processor with the same arithmetic.</p>\n<h2>Machine{0}</h2>\n<p>Trained in the arithmetic "
      "{5}, on {6}. xgrad {7} wrote this page.</p>\n",
      of, escape(model_of(record.config)), gradients.empty() ? "" : "<p>" + gradients + "</p>\n",
      escape(record.config_text), escape(record.path),
      escape(found.arithmetic.empty() ? arithmetic(train.precision == "bf16") : found.arithmetic),
      train.threads > 0 ? fmt::format("{} thread(s)", train.threads) : "all cores", kVersion,
      why_not.empty() ? explained(record, of.empty()) : "");
}

// The sections about what a model learned, each with its heading.
std::string learned(const Examined& best, const std::string& of) {
  std::string text;
  if (!best.why_not.empty()) {
    text = "<h2>Examples" + of + "</h2>\n<p>There are none: " + escape(best.why_not) + "</p>\n";
  }
  for (const auto& [title, section] : best.found.sections) {
    text += "<h2>" + title + of + "</h2>\n" + section;
  }
  return text;
}

// The sections about a group and its best run; `curves` come after the model.
std::string about(const RunGroup& group, const Examined& best, const std::string& of,
                  const std::string& curves) {
  const std::string numbers = html::numbers_section(group);
  return html::overfitting(group) + learned(best, of) + curves +
         (numbers.empty() ? "" : "<h2>Other numbers" + of + "</h2>\n" + numbers) + "<h2>Results" +
         of + "</h2>\n" + results_of(group, best.found.references) + runs_section(group) +
         configuration(best, of);
}

// The sections about several groups, which are collapsible.
std::string details(const Groups& groups, const std::vector<Examined>& best) {
  std::string text = "<h2>Details</h2>\n";
  for (std::size_t i = 0; i < groups.size(); ++i) {
    text += "<details><summary>" + (i < kLooks ? html::sample(i) : "") +
            breakable(groups[i].name, ',') + "</summary>\n" +
            about(groups[i], best[i], ": " + escape(best[i].record.name), "") + "</details>\n";
  }
  return text;
}

}  // namespace

std::vector<std::string> metrics_of(std::span<const RunGroup> groups,
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
  const bool several = groups.size() > 1;
  const std::string of = is_one_run(groups[0]) ? "" : ": " + escape(best[0].record.name);
  const std::string curves = html::curves_section(groups);
  const std::string sections = several ? "<h2>Results</h2>\n" + results_of(groups) +
                                             html::settings_section(groups) + curves +
                                             details(groups, best)
                                       : about(groups[0], best[0], of, curves);
  const std::string all = fmt::format("{}, {} runs", tasks_of(runs), runs.size());
  const std::string title = "xgrad: " + (runs.size() == 1 ? escape(runs[0].name) : all);
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
         title + "</title>\n<style>" + html::kStyle + "</style>\n</head>\n<body>\n" +
         header(runs, groups) + sections + "</body>\n</html>\n";
}

}  // namespace xgrad
