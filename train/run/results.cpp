#include <xgrad/train/run/results.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include <xgrad/text/amounts.hpp>
#include <xgrad/text/columns.hpp>
#include <xgrad/text/excerpt.hpp>

namespace xgrad {

using Json = nlohmann::json;
using Row = std::vector<std::string>;

// The 0.975 quantiles of Student's t for 1, 2, ... degrees of freedom.
constexpr std::array<double, kMostSeeds - 1> kStudent = {12.706, 4.303, 3.182, 2.776, 2.571,
                                                         2.447,  2.365, 2.306, 2.262};

const Row kHeads = {"config",     "accuracy", "exact match",   "best",        "rule",
                    "loss",       "least",    "most frequent", "token alone", "window",
                    "parameters", "steps",    "seconds",       "claims"};

// The mean and interval of f(outcome) over the seeds.
template <class F>
static Interval over_seeds(const std::vector<Outcome>& outcomes, const F& f) {
  std::vector<double> values;
  for (const Outcome& outcome : outcomes) values.push_back(f(outcome));
  return student_interval(values);
}

static std::string measured(const std::vector<Outcome>& outcomes, RatioMean Metrics::*metric) {
  const RatioMean& first = outcomes[0].result.test.*metric;
  if (first.count() == 0) return "";
  const auto [mean, half_width] =
      over_seeds(outcomes, [=](const Outcome& o) { return (o.result.test.*metric).mean(); });
  return figure_text(mean, outcomes.size() == 1 ? first.standard_error() : half_width);
}

static std::string ceiling(const std::vector<Outcome>& outcomes, double Ceiling::*which) {
  if (!outcomes[0].result.ceiling) return "";
  const auto best = [=](const Outcome& o) { return o.result.ceiling.value().*which; };
  return fmt::format("{:.4f}", over_seeds(outcomes, best).mean);
}

// Whether exact match differs from accuracy, because examples have several targets.
static bool has_exact_match(const Metrics& test) {
  return test.exact.count() > 0 && test.exact.count() < test.accuracy.count();
}

// Accuracy of the task's best rule.
static std::string best_rule(const Result& result) {
  const auto best = std::ranges::max_element(result.rules, {}, &Rule::accuracy);
  if (best == result.rules.end()) return "";
  return fmt::format("{:.4f}", best->accuracy) +
         (has_exact_match(result.test) ? fmt::format(", {:.4f} exact", best->exact) : "") +
         (best->loss ? fmt::format(", loss {:.4f}", *best->loss) : "");
}

static std::string verdict(const ConfigResult& result) {
  const std::vector<Outcome>& all = result.outcomes;
  if (!result.failure.empty()) return result.failure;
  if (all[0].verdicts.empty()) return "none";
  if (result.holds()) return "hold";
  return all.size() == 1 ? "FAILED"
                         : fmt::format("hold for {} of {} seeds",
                                       std::ranges::count_if(all, &Outcome::holds), all.size());
}

static Row row(const ConfigResult& result) {
  if (!result.cells.empty()) return result.cells;
  const std::vector<Outcome>& outcomes = result.outcomes;
  Row cells(kHeads.size());
  cells.front() = result.name;
  cells.back() = verdict(result);
  if (outcomes.empty()) return cells;
  const Result& first = outcomes[0].result;
  const auto share = [](const std::optional<double>& x) {
    return x ? fmt::format("{:.4f}", *x) : "";
  };
  return {
      result.name,
      measured(outcomes, &Metrics::accuracy),
      has_exact_match(first.test) ? measured(outcomes, &Metrics::exact) : "",
      first.test.accuracy.count() > 0 ? ceiling(outcomes, &Ceiling::accuracy) : "",
      best_rule(first),
      measured(outcomes, &Metrics::loss),
      ceiling(outcomes, &Ceiling::loss),
      share(result.baseline.majority),
      share(result.baseline.own_token),
      share(result.baseline.window),
      grouped(first.parameters),
      grouped(first.steps),
      fmt::format("{:.1f}", over_seeds(outcomes, [](const Outcome& o) { return o.seconds; }).mean),
      cells.back()};
}

static std::vector<Row> table(const std::vector<ConfigResult>& results) {
  std::vector<Row> rows = {kHeads};
  for (const ConfigResult& result : results) rows.push_back(row(result));
  return rows;
}

Interval student_interval(const std::vector<double>& values) {
  const double n = double(values.size());
  Interval interval;
  for (double value : values) interval.mean += value / n;
  if (values.size() < 2) return interval;
  double squares = 0;
  for (double value : values) squares += (value - interval.mean) * (value - interval.mean);
  interval.half_width = kStudent.at(values.size() - 2) * std::sqrt(squares / (n - 1) / n);
  return interval;
}

std::string results_markdown(const std::vector<ConfigResult>& results) {
  std::string text;
  for (Row& cells : table(results)) {
    const bool heads = text.empty();
    for (std::string& cell : cells) {  // a | in a cell would end the cell
      for (std::size_t at = 0; (at = cell.find('|', at)) != cell.npos; at += 2) {
        cell.insert(at, "\\");
      }
    }
    text += "| " + joined(cells, " | ") + " |\n";
    if (heads) text += "|" + joined(Row(cells.size(), "---"), "|") + "|\n";
  }
  return text;
}

std::string results_text(const std::vector<ConfigResult>& results) {
  return text_table(table(results), {Align::left});
}

std::string results_json(const std::vector<ConfigResult>& results) {
  std::string text;
  for (const Row& cells : table(results)) {
    // A name or a message may hold bytes that are not UTF-8, and so not JSON.
    text += Json(cells).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }
  return text;
}

std::vector<std::string> parse_row(const std::string& json) {
  const Json row =
      Json::parse(json.substr(json.find('\n') + 1), nullptr, /*allow_exceptions=*/false);
  return row.is_array() ? row.get<Row>() : Row();
}

}  // namespace xgrad
