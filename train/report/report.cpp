#include <xgrad/train/report/report.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/cpu.hpp>
#include <xgrad/data/text/amounts.hpp>
#include <xgrad/storage/disk/publish.hpp>
#include <xgrad/train/inspect/summary.hpp>
#include <xgrad/train/metrics/record.hpp>
#include <xgrad/train/report/chart.hpp>
#include <xgrad/train/report/html.hpp>
#include <xgrad/train/report/sections.hpp>
#include <xgrad/train/report/style.hpp>
#include <xgrad/version.hpp>

namespace xgrad {

namespace fs = std::filesystem;
using html::escape;

namespace {

// A run with all that could be found out about it.
struct Shown {
  RunRecord record;
  std::string name;
  std::optional<Examination> examination;
  std::string why_not;  // there is none
  std::string model;    // the summary, or why there is none
};

Shown look_at(const std::string& path, bool heads) {
  Shown run{read_run(path), "", {}, "", ""};
  run.name = fs::path(run.record.path).filename().string();
  try {
    run.examination = examine(run.record.path, run.record.config, heads);
  } catch (const Error& error) {
    run.why_not = error.what();
  }
  try {
    run.model = to_text(summarize(run.record.config));
  } catch (const Error& error) {
    run.model = error.what();
  }
  return run;
}

using Runs = std::vector<Shown>;
using Row = std::vector<std::string>;

std::string state_of(const RunRecord& run) {
  const std::string steps = grouped(run.last_step);
  switch (run.state) {
    case RunRecord::State::finished:
      return "<span class=\"state good\">finished</span> after " + steps + " steps";
    case RunRecord::State::failed:
      return "<span class=\"state bad\">failed</span> after step " + steps +
             ": <span class=\"said\">" + escape(run.failure) + "</span>";
    case RunRecord::State::unfinished:
      break;
  }
  return "<span class=\"state\">unfinished</span> at step " + steps;
}

std::string header(const Runs& runs) {
  std::vector<std::string> tasks;
  for (const Shown& run : runs) {
    const std::string& task = run.record.config.task;
    if (std::find(tasks.begin(), tasks.end(), task) == tasks.end()) tasks.push_back(task);
  }
  std::string text = "<h1>" + escape(fmt::format("{}", fmt::join(tasks, ", "))) + "</h1>\n";
  for (const Shown& run : runs) {
    text += "<p><strong>" + escape(run.name) + "</strong> " + state_of(run.record) + "</p>\n";
  }
  return text;
}

// A row of the table of results: what `value` says of each run; no row where it says nothing.
template <class Value>
void add_row(std::vector<Row>& rows, const std::string& name, const Runs& runs,
             const Value& value) {
  Row row{escape(name)};
  bool any = false;
  for (const Shown& run : runs) {
    const std::string cell = value(run);
    any = any || !cell.empty();
    row.push_back(cell.empty() ? "–" : escape(cell));
  }
  if (any) rows.push_back(row);
}

std::string with_error(const MetricsRow* row, const std::string& metric) {
  const auto value = row ? row->number(metric) : std::nullopt;
  if (!value) return "";
  const auto error = row->number(metric + "_se");
  return fmt::format("{:.4f}", *value) + (error ? fmt::format(" ± {:.4f}", *error) : "");
}

// The metrics of a split, each once, in the order of the rows.
std::vector<std::string> metrics_of(const Runs& runs, const std::string& split, bool with_errors) {
  std::vector<std::string> names;
  for (const Shown& run : runs) {
    const MetricsRow* row = run.record.last(split);
    for (std::size_t i = 0; row && i < row->numbers.size(); ++i) {
      const std::string& name = row->numbers[i].first;
      const bool fits = !name.ends_with("_se") && (!with_errors || row->number(name + "_se"));
      if (fits && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

// A row a rule; runs of different tasks may have different ones.
void add_rules(std::vector<Row>& rows, const Runs& runs) {
  std::vector<std::string> names;
  for (const Shown& run : runs) {
    if (!run.examination) continue;
    for (const Rule& rule : run.examination->rules) {
      if (std::find(names.begin(), names.end(), rule.name) == names.end()) {
        names.push_back(rule.name);
      }
    }
  }
  for (const std::string& name : names) {
    add_row(rows, "accuracy of the rule \"" + name + "\", test", runs,
            [&](const Shown& run) -> std::string {
              if (!run.examination) return "";
              for (const Rule& rule : run.examination->rules) {
                if (rule.name == name) return fmt::format("{:.4f}", rule.accuracy);
              }
              return "";
            });
  }
}

void add_references(std::vector<Row>& rows, const Runs& runs) {
  const auto of = [](const auto& get) {
    return [get](const Shown& run) -> std::string {
      const std::optional<double> value = run.examination ? get(*run.examination) : std::nullopt;
      return value ? fmt::format("{:.4f}", *value) : "";
    };
  };
  using Found = const Examination&;
  add_row(rows, "highest accuracy there can be, test", runs, of([](Found e) {
            const bool known = e.ceiling && e.ceiling->accuracy > 0;  // of numbers it is 0
            return known ? std::optional(e.ceiling->accuracy) : std::nullopt;
          }));
  add_row(rows, "lowest loss there can be, test", runs,
          of([](Found e) { return e.ceiling ? std::optional(e.ceiling->loss) : std::nullopt; }));
  add_row(rows, "accuracy of the most frequent answer, test", runs,
          of([](Found e) { return e.baseline ? e.baseline->majority : std::nullopt; }));
  add_row(rows, "accuracy from each token alone, test", runs,
          of([](Found e) { return e.baseline ? e.baseline->own_token : std::nullopt; }));
  add_row(rows,
          fmt::format("accuracy from windows of up to {} tokens, test", 2 * kBaselineRadius + 1),
          runs, of([](Found e) { return e.baseline ? e.baseline->window : std::nullopt; }));
  add_rules(rows, runs);
}

std::string results(const Runs& runs) {
  std::vector<Row> rows{{""}};
  for (const Shown& run : runs) rows[0].push_back(escape(run.name));
  for (const char* split : {"test", "validation"}) {
    for (const std::string& metric : metrics_of(runs, split, true)) {
      add_row(rows, metric + ", " + split, runs,
              [&](const Shown& run) { return with_error(run.record.last(split), metric); });
    }
  }
  add_references(rows, runs);
  add_row(rows, "time", runs,
          [](const Shown& run) { return run.record.seconds > 0 ? clock(run.record.seconds) : ""; });
  add_row(rows, "tokens or images a second", runs, [](const Shown& run) {
    return run.record.rate > 0 ? grouped(std::uint64_t(run.record.rate)) : "";
  });
  std::string text = "<h2>Results</h2>\n" + html::table(rows);
  if (metrics_of(runs, "test", true).empty() && metrics_of(runs, "validation", true).empty()) {
    text = "<h2>Results</h2>\n<p>Nothing was evaluated.</p>\n";
  }
  return text + "<p class=\"soft\">± is one standard error.</p>\n";
}

std::string curves(const Runs& runs) {
  std::string charts;
  std::vector<std::string> names = metrics_of(runs, "train", false);
  for (const std::string& name : metrics_of(runs, "validation", false)) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  for (const std::string& metric : names) {
    std::vector<html::ChartLine> lines;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      for (const char* split : {"validation", "train"}) {
        const bool train = std::string_view(split) == "train";
        html::ChartLine line{runs.size() == 1 ? split : runs[i].name + ", " + split, i, train, {}};
        for (const MetricsRow& row : runs[i].record.rows) {
          const auto value = row.split == split ? row.number(metric) : std::nullopt;
          if (!value) continue;
          line.points.push_back(
              {double(row.step), *value, train ? 0 : row.number(metric + "_se").value_or(0)});
        }
        if (!line.points.empty()) lines.push_back(std::move(line));
      }
    }
    charts += html::chart(metric, lines);
  }
  if (charts.empty()) return "<h2>Curves</h2>\n<p>No step was logged.</p>\n";
  return "<h2>Curves</h2>\n<div class=\"charts\">\n" + charts +
         "</div>\n<p class=\"soft\">By steps; bands are 95 % intervals of the validation "
         "split.</p>\n";
}

std::string behaviour(const Runs& runs) {
  std::string text;
  for (const Shown& run : runs) {
    const std::string of = runs.size() == 1 ? "" : ": " + escape(run.name);
    if (!run.examination) {
      text += "<h2>Examples" + of +
              "</h2>\n<p>The model could not be looked at: " + escape(run.why_not) + "</p>\n";
      continue;
    }
    const Examination& found = *run.examination;
    const std::string where =
        fmt::format("<p class=\"soft\">The first {} examples of the test split, at step {}.</p>\n",
                    grouped(found.examples), grouped(found.step));
    if (const std::string matrix = html::confusion_section(found.confusion); !matrix.empty()) {
      text += "<h2>Confusion" + of + "</h2>\n" + where + matrix;
    }
    text += "<h2>Examples" + of + "</h2>\n" + where + html::samples_section(found);
    if (const std::string maps = html::maps_section(found); !maps.empty()) {
      text += "<h2>Attention" + of + "</h2>\n" + maps;
    }
    if (found.heads && !found.heads->layers.empty()) {
      text += "<h2>Heads" + of + "</h2>\n" + where + html::heads_section(*found.heads);
    }
  }
  return text;
}

std::string configuration(const Runs& runs) {
  std::string text;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    text += "<h2>From " + escape(runs[0].name) + " to " + escape(runs[i].name) + "</h2>\n<pre>";
    for (const ConfigDifference& d : differences(runs[0].record.config, runs[i].record.config)) {
      text += escape(to_string(d)) + "\n";
    }
    text += "</pre>\n";
  }
  for (const Shown& run : runs) {
    const std::string of = runs.size() == 1 ? "" : ": " + escape(run.name);
    text += "<h2>Model" + of + "</h2>\n<pre>" + escape(run.model) + "</pre>\n";
    text += "<h2>Configuration" + of + "</h2>\n<pre>" + escape(run.record.config_text) + "</pre>\n";
    text +=
        "<h2>Again" + of + "</h2>\n<pre>xgrad train " +
        escape(run.record.path + "/config.toml run.dir=" + run.record.path + "-again") +
        "</pre>\n<p class=\"soft\">The same config and binary give the same bits on any number of "
        "threads of a processor of the same class.</p>\n";
    const std::string trained = run.examination ? run.examination->cpu : "";
    text += "<h2>Machine" + of + "</h2>\n<p>Trained on a processor of the class " +
            escape(trained.empty() ? cpu_name(cpu()) : trained) + ", " +
            (run.record.config.train.threads > 0
                 ? std::to_string(run.record.config.train.threads) + " thread(s)"
                 : "all its cores") +
            ". This page: xgrad " + kVersion + ".</p>\n";
  }
  return text;
}

}  // namespace

std::string report_html(const std::vector<std::string>& paths, bool heads) {
  Runs runs;
  for (const std::string& path : paths) runs.push_back(look_at(path, heads));
  std::string title = "xgrad:";
  for (const Shown& run : runs) title += " " + run.name;
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
         escape(title) + "</title>\n<style>" + html::kStyle + "</style>\n</head>\n<body>\n" +
         header(runs) + results(runs) + curves(runs) + behaviour(runs) + configuration(runs) +
         "</body>\n</html>\n";
}

void write_report(const Folder& directory, const std::string& name,
                  const std::vector<std::string>& runs, bool heads) {
  publish_over(directory, name, report_html(runs, heads));
}

}  // namespace xgrad
