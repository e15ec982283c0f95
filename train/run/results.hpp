// The table of results of `xgrad check`.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <xgrad/data/rules/baseline.hpp>
#include <xgrad/train/run/session.hpp>

namespace xgrad {

/// The results of a config that was trained with one or more seeds.
struct ConfigResult {
  std::string name;                    ///< the config's file name, without directory and extension
  std::string failure = {};            ///< error that ended a run; empty: none
  std::vector<Outcome> outcomes = {};  ///< one per seed
  Baseline baseline = {};              ///< baselines on the data of the first seed
  /// If another process trained the config: its row of the table. Otherwise empty; then the row is
  /// made from the other members.
  std::vector<std::string> cells = {};

  /// Whether all runs completed and all claims are true.
  bool holds() const { return failure.empty() && std::ranges::all_of(outcomes, &Outcome::holds); }
};

/// A mean and half the width of its 95 % confidence interval.
struct Interval {
  double mean = 0;        ///< centre of the interval
  double half_width = 0;  ///< half the width
};
/// Student's confidence interval of the mean: t s / sqrt(n). Its width is 0 for fewer than two
/// values. Requires: at most 10 values.
Interval student_interval(const std::vector<double>& values);
/// Maximum of `check --seeds`.
inline constexpr std::size_t kMostSeeds = 10;

/// Returns a Markdown table with a row per config: metrics on the test split, best possible values,
/// accuracies of simple baselines, parameters, steps, seconds, and whether the claims hold. ± is
/// the standard error over examples or, with several seeds, half the 95 % confidence interval.
std::string results_markdown(const std::vector<ConfigResult>& results);
/// Returns the same table as text in aligned columns.
std::string results_text(const std::vector<ConfigResult>& results);
/// Returns the same table as JSON Lines, with the names of the columns on the first line. Each line
/// is an array of the texts of its cells.
std::string results_json(const std::vector<ConfigResult>& results);
/// Returns the cells of the only row of results_json(); empty if there is none.
std::vector<std::string> parse_row(const std::string& json);

}  // namespace xgrad
