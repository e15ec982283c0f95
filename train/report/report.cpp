#include <xgrad/train/report/report.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/kernels/cpu.hpp>
#include <xgrad/data/excerpt.hpp>
#include <xgrad/data/text/amounts.hpp>
#include <xgrad/train/inspect/certificate.hpp>
#include <xgrad/train/inspect/summary.hpp>
#include <xgrad/train/logs/history.hpp>
#include <xgrad/train/report/chart.hpp>
#include <xgrad/train/report/html.hpp>
#include <xgrad/train/report/sections.hpp>
#include <xgrad/train/report/style.hpp>
#include <xgrad/version.hpp>

namespace xgrad {

using html::escape;

namespace {

// Limits the time of examinations and the size of attention maps on the page.
constexpr std::size_t kMostExamined = 8;

using Row = std::vector<std::string>;

// The best run of a group and the examination of its model.
struct Examined {
  RunHistory record;
  std::optional<Examination> examination;
  std::string why_not;  // reason for a missing examination
};

Examined look_at(const RunHistory& run, bool heads, std::size_t rank) {
  if (rank >= kMostExamined) {
    return {run, {}, fmt::format("only the best {} groups are examined", kMostExamined)};
  }
  try {
    return {run, examine(run.path, heads), ""};
  } catch (const Error& error) {
    return {run, {}, error.what()};
  }
}

std::string model_of(const Config& config) {
  try {
    return to_text(summarize(config));
  } catch (const Error& error) {
    return error.what();
  }
}

// One sentence about the certificate of the run's gradients; empty if there is none.
std::string gradients_of(const RunHistory& run) {
  try {
    const auto certificate = read_certificate(run.path);
    return certificate ? "<p>" + escape(summary(*certificate)) + "</p>\n" : "";
  } catch (const Error& error) {
    return "<p>" + escape(error.what()) + "</p>\n";
  }
}

std::string state_of(const RunHistory& run) {
  const std::string steps = grouped(run.last_step);
  switch (run.state) {
    case RunHistory::State::finished:
      return "<span class=\"state good\">finished</span> after " + steps + " steps";
    case RunHistory::State::failed:
      return "<span class=\"state bad\">failed</span> after step " + steps +
             ": <span class=\"said\">" + escape(run.failure) + "</span>";
    case RunHistory::State::unfinished:
      break;
  }
  return "<span class=\"state\">unfinished</span> at step " + steps;
}

std::string tasks_of(const std::vector<RunHistory>& runs) {
  std::vector<std::string> tasks;
  for (const RunHistory& run : runs) {
    if (std::find(tasks.begin(), tasks.end(), run.config.task) == tasks.end()) {
      tasks.push_back(run.config.task);
    }
  }
  return escape(joined(tasks));
}

// If there are several runs, only those that did not finish get a line each.
std::string header(const std::vector<RunHistory>& runs, std::size_t groups) {
  std::string text = "<h1>" + tasks_of(runs) + "</h1>\n";
  if (runs.size() > 1) {
    text += fmt::format("<p>{} runs{}: {}</p>\n", runs.size(),
                        groups < runs.size()
                            ? fmt::format(" in {} {}", groups, groups == 1 ? "group" : "groups")
                            : "",
                        RunGroup{"", runs}.state());
  }
  for (const RunHistory& run : runs) {
    if (runs.size() > 1 && run.state == RunHistory::State::finished) continue;
    text += "<p><strong>" + escape(run.name) + "</strong> " + state_of(run) + "</p>\n";
  }
  return text;
}

// Reference values for the test results of a run.
std::vector<Row> references(const Examined& run) {
  std::vector<Row> rows;
  const auto add = [&](const std::string& name, const std::optional<double>& value) {
    if (value) rows.push_back({escape(name) + ", test", fmt::format("{:.4f}", *value)});
  };
  if (!run.examination) return rows;
  const auto& ceiling = run.examination->ceiling;
  const auto& baseline = run.examination->baseline;
  if (ceiling && ceiling->accuracy > 0) {  // 0 for tasks with numbers as targets
    add("highest accuracy there can be", ceiling->accuracy);
  }
  if (ceiling) add("lowest loss there can be", ceiling->loss);
  if (baseline) {
    add("accuracy of the most frequent answer", baseline->majority);
    add("accuracy from each token alone", baseline->own_token);
    add(fmt::format("accuracy from windows of up to {} tokens", 2 * kBaselineRadius + 1),
        baseline->window);
  }
  for (const Rule& rule : run.examination->rules) {
    add("accuracy of the rule \"" + rule.name + "\"", rule.accuracy);
    add("loss of the rule \"" + rule.name + "\"", rule.loss);
  }
  return rows;
}

std::string behaviour(const Examined& run, const std::string& of) {
  if (!run.examination) {
    return "<h2>Examples" + of + "</h2>\n<p>There are none: " + escape(run.why_not) + "</p>\n";
  }
  const Examination& found = *run.examination;
  const std::string where =
      fmt::format("<p class=\"soft\">The first {} examples of the test split, at step {}{}.</p>\n",
                  grouped(found.examples), grouped(found.step), outputs_read(found.forced));
  std::string text;
  if (const std::string matrix = html::confusion_section(found); !matrix.empty()) {
    text += "<h2>Confusion" + of + "</h2>\n" + where + matrix;
  }
  text += "<h2>Examples" + of + "</h2>\n" + where + html::samples_section(found);
  if (const std::string maps = html::maps_section(found); !maps.empty()) {
    text += "<h2>Attention" + of + "</h2>\n" + maps;
  }
  if (found.embeddings) {
    text += "<h2>Embeddings" + of + "</h2>\n" + html::embeddings_section(*found.embeddings);
  }
  if (found.heads && !found.heads->layers.empty()) {
    text += "<h2>Heads" + of + "</h2>\n" + where + html::heads_section(*found.heads);
  }
  return text;
}

std::string configuration(const Examined& run, const std::string& of) {
  const RunHistory& record = run.record;
  const std::string trained = run.examination ? run.examination->arithmetic : "";
  return "<h2>Model" + of + "</h2>\n<pre>" + escape(model_of(record.config)) + "</pre>\n" +
         gradients_of(record) + "<h2>Configuration" + of + "</h2>\n<pre>" +
         escape(record.config_text) + "</pre>\n<h2>Again" + of + "</h2>\n<pre>xgrad train " +
         escape(record.path + "/config.toml run.dir=" + record.path + "-again") +
         "</pre>\n<p class=\"soft\">The same config gives the same bits on any number of threads, "
         "and "
         "on any processor with the same arithmetic.</p>\n<h2>Machine" +
         of + "</h2>\n<p>Trained in the arithmetic " +
         escape(trained.empty() ? arithmetic(run.record.config.train.precision == "bf16")
                                : trained) +
         ", " +
         (record.config.train.threads > 0
              ? std::to_string(record.config.train.threads) + " thread(s)"
              : "all its cores") +
         ". This page: xgrad " + kVersion + ".</p>\n";
}

// The sections about each group and its best run. Several groups become collapsible sections.
std::string details(const std::vector<RunGroup>& groups, const std::vector<Examined>& best) {
  if (groups.size() == 1) {
    const std::string of = groups[0].runs.size() > 1 ? ": " + escape(best[0].record.name) : "";
    return html::runs_section(groups[0]) + behaviour(best[0], of) + configuration(best[0], of);
  }
  std::string text = "<h2>Details</h2>\n";
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::string of = ": " + escape(best[i].record.name);
    std::vector<Row> rows = references(best[i]);
    if (!rows.empty()) rows.insert(rows.begin(), {"", escape(best[i].record.name)});
    text += "<details><summary>" + (i < html::kLooks ? html::sample(i) : "") +
            html::breakable(groups[i].name, ',') + "</summary>\n" + html::runs_section(groups[i]) +
            (rows.empty() ? "" : "<h2>For comparison" + of + "</h2>\n" + html::table(rows)) +
            behaviour(best[i], of) + configuration(best[i], of) + "</details>\n";
  }
  return text;
}

}  // namespace

std::string report_html(const std::vector<std::string>& paths, bool heads) {
  const std::vector<RunHistory> runs = read_runs(paths);
  std::vector<RunGroup> groups = group_runs(runs);
  html::sort_groups(groups);
  std::vector<Examined> best;
  for (const RunGroup& group : groups) {
    best.push_back(look_at(html::best_run(group), heads, best.size()));
  }
  const std::string title =
      "xgrad: " + (runs.size() == 1 ? escape(runs[0].name)
                                    : fmt::format("{}, {} runs", tasks_of(runs), runs.size()));
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
         title + "</title>\n<style>" + html::kStyle + "</style>\n</head>\n<body>\n" +
         header(runs, groups.size()) +
         html::results_section(groups,
                               groups.size() == 1 ? references(best[0]) : std::vector<Row>{}) +
         html::curves_section(groups) + html::settings_section(groups) + details(groups, best) +
         "</body>\n</html>\n";
}

}  // namespace xgrad
