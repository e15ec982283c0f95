// The table of what configs reached.
#pragma once

#include <string>
#include <vector>

#include <xgrad/data/rules/baseline.hpp>
#include <xgrad/train/run/session.hpp>

namespace xgrad {

/// One config, trained with one seed or several.
struct ConfigResult {
  std::string name;                    ///< the stem of its file
  std::string failure = {};            ///< what ended it early; empty: nothing
  std::vector<Outcome> outcomes = {};  ///< one a seed
  Baseline baseline = {};              ///< of the first seed's data

  /// Whether it ended, and all its claims are true.
  bool holds() const;
};

/// A mean and half the width of its 95 % interval.
struct Interval {
  double mean = 0;        ///< its middle
  double half_width = 0;  ///< on either side
};
/// Student's interval of the mean: t s / sqrt(n); 0 wide for fewer than two values. Requires: at
/// most 10 values.
Interval student_interval(const std::vector<double>& values);
/// Of check --seeds.
inline constexpr std::size_t kMostSeeds = 10;

/// A row a config: accuracy, exact match and loss of the test split with the best there can be,
/// what rules without a model reach, size, steps, seconds, and whether the claims hold. With one
/// seed ± is the standard error over the examples of the split, with several half the 95 % interval
/// over seeds.
std::string results_markdown(const std::vector<ConfigResult>& results);
/// The same in aligned columns.
std::string results_text(const std::vector<ConfigResult>& results);

}  // namespace xgrad
