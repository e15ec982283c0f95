#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include <xgrad/autograd/check.hpp>
#include <xgrad/cli/command.hpp>
#include <xgrad/data/example_text.hpp>
#include <xgrad/data/watch_progress.hpp>
#include <xgrad/storage/disk/publish.hpp>
#include <xgrad/text/columns.hpp>
#include <xgrad/text/excerpt.hpp>
#include <xgrad/train/config/config.hpp>
#include <xgrad/train/inspect/lengths.hpp>
#include <xgrad/train/logs/console.hpp>
#include <xgrad/train/logs/metrics_row.hpp>
#include <xgrad/train/report/report.hpp>
#include <xgrad/train/run/rank_jobs.hpp>

namespace xgrad::commands {

namespace {

using Json = nlohmann::ordered_json;

struct Arguments : EnsembleArguments {
  std::string split = "test", lengths, beside, out;
  std::vector<std::string> overrides;
  bool json = false;
};

// The scores of a split, and the counts and names that are printed beside them.
struct Result {
  Metrics metrics;
  ClassReport classes;             // empty if no table is printed
  std::vector<std::string> names;  // names of the classes
  std::size_t tokens = 0, unknown = 0;
};

using Runs = std::vector<FoundRun>;

// "FILE (step 200)", or of an ensemble "the mean of FILE (step 200), OTHER (step 300)".
std::string title(const Runs& sources) {
  std::vector<std::string> each;
  for (const FoundRun& one : sources) {
    each.push_back(fmt::format("{} (step {})", one.file, one.checkpoint.step));
  }
  return (each.size() > 1 ? "the mean of " : "") + joined(each);
}

// A row of metrics with its step; for an ensemble, with the "steps" of its runs.
Json row_of(const Runs& sources, const std::string& text) {
  Json row = Json::parse(text);
  if (sources.size() == 1) return row;
  row.erase("step");
  for (const FoundRun& one : sources) row["steps"].push_back(one.checkpoint.step);
  return row;
}

template <class T>
Result evaluated(const Runs& sources, Split split, Console& console) {
  auto [loaded, scores] =
      score_on_all_ranks<T>(sources, split, [&](std::size_t done, std::size_t total) {
        console.counting("evaluating", done, total, "examples");
      });
  Result result{scores.metrics, std::move(scores.classes), {}};
  const auto dataset = loaded->task->dataset(split);
  for (std::size_t i = 0; i < dataset->size(); ++i) {
    const Example example = dataset->get(0, i);
    result.tokens += example.ids.size();
    result.unknown += unknown_tokens(example, loaded->shape);
  }
  for (std::size_t c = 0; c < result.classes.classes(); ++c) {
    result.names.push_back(class_text(std::int32_t(c), loaded->shape));
  }
  return result;
}

// Prints one row per class: precision, recall, F1 and the number of targets, then its row of the
// confusion matrix. Yes-or-no targets have no confusion matrix.
void print_classes(const Result& result) {
  const ClassReport& report = result.classes;
  const Figure f1 = report.macro_f1();
  fmt::print("macro F1 {}\n\n", figure_text(f1.value, f1.standard_error));
  std::size_t widest = 5;
  for (const std::string& name : result.names) widest = std::max(widest, name.size());
  fmt::print("{:<{}}  {:>15}  {:>15}  {:>15}  {:>8}", "class", widest, "precision", "recall", "F1",
             "targets");
  if (report.has_confusion()) {
    fmt::print("  predicted as\n{:<{}}", "", widest + 63);
    for (const std::string& name : result.names) fmt::print(" {:>6}", name);
  }
  fmt::print("\n");
  for (std::size_t c = 0; c < report.classes(); ++c) {
    fmt::print("{:<{}}", result.names[c], widest);
    for (const RatioMean& mean : {report.precision(c), report.recall(c), report.f1(c)}) {
      fmt::print("  {:<15}", figure_text(mean.mean(), mean.standard_error()));
    }
    fmt::print("  {:>8}", report.recall(c).count());
    for (std::size_t g = 0; report.has_confusion() && g < report.classes(); ++g) {
      fmt::print(" {:>6}", report.confusion(c, g));
    }
    fmt::print("\n");
  }
}

// Parses "4:512" as 4, 8, 16, ... 512, doubling up to the last length, and "4:20:8" as 4, 12, 20.
std::vector<std::size_t> parse_lengths(const std::string& text) {
  std::size_t numbers[3] = {0, 0, 0}, count = 0;
  std::istringstream words(text);
  bool good = !text.ends_with(':');
  for (std::string word; std::getline(words, word, ':'); ++count) {
    const char* const end = word.data() + word.size();
    good = good && count < 3 && std::from_chars(word.data(), end, numbers[count]).ptr == end &&
           numbers[count] > 0 && numbers[count] <= 65536;
  }
  xgrad::check<ConfigError>(good && count > 1,
                            "--lengths: expected FIRST:LAST or FIRST:LAST:STEP, such as 4:512, "
                            "with numbers from 1 to 65536, got ",
                            excerpt(text));
  const auto [first, last, step] = numbers;
  xgrad::check<ConfigError>(first <= last, "--lengths: the first length, ", first,
                            ", is above the last, ", last);
  std::vector<std::size_t> lengths;
  for (std::size_t n = first; n<last; n += step> 0 ? step : n) lengths.push_back(n);
  lengths.push_back(last);
  return lengths;
}

// The scores as a table, with the reasons for missing ones below.
std::string lengths_text(const std::vector<LengthScore>& scores) {
  std::vector<std::vector<std::string>> rows;
  std::string missing;
  for (const LengthScore& score : scores) {
    if (!score.why_not.empty()) {
      missing += fmt::format("length {}: {}\n", score.length_text(), score.why_not);
      continue;
    }
    const std::vector<Figure> figures = score.metrics.figures();
    if (rows.empty()) {
      rows.push_back({"length", "examples"});
      for (const Figure& figure : figures) rows[0].push_back(figure.name);
    }
    rows.push_back({score.length_text(), fmt::to_string(score.examples)});
    for (const Figure& figure : figures) {
      rows.back().push_back(figure_text(figure.value, figure.standard_error));
    }
  }
  return text_table(rows, {Align::right}) + missing;
}

// {"lengths": [{"length": 4, "examples": 1000, "step": 500, "split": "test", "loss": ...}, ...]},
// without lengths that have no score. A score over several lengths also has "shortest".
Json lengths_json(const std::vector<LengthScore>& scores, const Runs& sources,
                  const std::string& split) {
  const std::uint64_t step = sources.front().checkpoint.step;
  Json rows = Json::array();
  for (const LengthScore& score : scores) {
    if (!score.why_not.empty()) continue;
    Json& row = rows.emplace_back(Json::object());
    if (score.shortest < score.length) row["shortest"] = score.shortest;
    row["length"] = score.length;
    row["examples"] = score.examples;
    row.update(row_of(sources, to_json(metrics_row(step, split, score.metrics))));
  }
  return {{"lengths", rows}};
}

// Draws the most important metric over the lengths: a line for each run.
std::string lengths_svg(const std::vector<std::pair<std::string, std::vector<LengthScore>>>& runs) {
  std::string metric;
  std::vector<html::ChartLine> lines;
  for (const auto& [name, scores] : runs) {
    html::ChartLine line{name, lines.size() % html::kLooks, {}};
    for (const LengthScore& score : scores) {
      if (!score.why_not.empty()) continue;
      const Figure figure = score.metrics.figures()[1];
      metric = figure.name;
      if (!std::isfinite(figure.value)) continue;
      const double error = figure.standard_error;
      line.points.push_back({double(score.length), figure.value, std::isfinite(error) ? error : 0});
    }
    lines.push_back(std::move(line));
  }
  return html::picture({.title = metric + " by length",
                        .x = "length",
                        .y = metric,
                        .lines = lines,
                        .logarithmic_from = 8});
}

int eval_lengths(const Arguments& a) {
  const std::vector<std::size_t> lengths = parse_lengths(a.lengths);
  tell_others_wait("eval --lengths");
  if (!a.out.empty()) check_new(a.out);
  Console console(/*quiet=*/false, "");
  std::vector<std::pair<std::string, std::vector<LengthScore>>> curves;
  for (const auto& names : std::vector<std::vector<std::string>>{a.runs, {a.beside}}) {
    if (names[0].empty()) continue;
    const Runs sources = find_runs(names, a.overrides, a.take());
    const std::vector<LengthScore> scores = score_lengths(
        sources, split_of(a.split), lengths, [&](std::size_t done, std::size_t total) {
          console.counting("evaluating", done, total, "lengths");
        });
    if (a.json) {
      fmt::print("{}\n", lengths_json(scores, sources, a.split).dump());
    } else {
      fmt::print("{}, {}\n{}", title(sources), a.split, lengths_text(scores));
    }
    std::vector<std::string> lines;
    for (const FoundRun& one : sources) {
      const std::string path = (one.directory.empty() ? one.file : one.directory) + "/";
      const auto whole = std::filesystem::absolute(path).lexically_normal();
      lines.push_back(whole.parent_path().filename().string());
    }
    curves.push_back({joined(lines, " + "), scores});
  }
  if (!a.out.empty()) publish_file(a.out, lengths_svg(curves));
  return 0;
}

int eval(const Arguments& a) {
  if (!a.lengths.empty()) return eval_lengths(a);
  const Runs sources = find_runs(a.runs, a.overrides, a.take());
  const Split split = split_of(a.split);
  Console console(/*quiet=*/false, "");
  const WatchProgress watch([&](const std::string& path, std::uint64_t read, std::uint64_t size) {
    console.reading(path, read, size);
  });
  const Result result = with_precision(
      sources.front().config, [&]<class T>() { return evaluated<T>(sources, split, console); });
  const bool tabled = result.classes.classes() > 0;
  const std::uint64_t step = sources.front().checkpoint.step;
  if (a.json) {
    Json row = row_of(
        sources, tabled ? report_row(step, a.split, result.metrics, result.classes, result.names)
                        : to_json(metrics_row(step, a.split, result.metrics)));
    if (result.unknown > 0) {
      row["tokens"] = result.tokens;
      row["unknown_tokens"] = result.unknown;
    }
    fmt::print("{}\n", row.dump());
  } else {
    fmt::print("{}\n{}  {}\n", title(sources), a.split, summary(result.metrics));
    if (result.unknown > 0) {
      fmt::print("unknown  {}\n", unknown_text(result.unknown, result.tokens));
    }
    if (tabled) print_classes(result);
  }
  return 0;
}

}  // namespace

Command eval_command() {
  const auto a = std::make_shared<Arguments>();
  return Command(
      "eval", "Evaluate a trained model on a data split",
      {{"runs", kRuns, &a->runs, kRequired},
       {"overrides", "KEY=VALUE overrides each config, as in task.test=other.csv for other data",
        &a->overrides},
       {"--split", "the split to evaluate", &a->split,
        Rules{.choices = {"train", "validation", "test"}}},
       {"--lengths",
        "evaluate on examples of these lengths instead: 4:512 for 4, 8, 16, ... 512, or 4:64:10 "
        "for steps of 10; for a task without task.length, an example counts at the next of these "
        "lengths",
        &a->lengths, Rules{.value = "FIRST:LAST[:STEP]"}},
       {"--beside", "another run to evaluate on the same lengths", &a->beside,
        Rules{.needs = {"--lengths"}}},
       {"--out", "new SVG file for the curve over the lengths", &a->out,
        Rules{.new_path = true, .needs = {"--lengths"}}},
       last_option(*a),
       {"--json", kJson, &a->json}},
      [a] { return eval(*a); }, /*on_all_ranks=*/true);
}

}  // namespace xgrad::commands
