// What a gradient check found.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace xgrad {

/// One leaf, or the combination of all, at the place where its gradient is worst.
struct GradientRow {
  std::string name;        ///< of the leaf; "all" for directions through all leaves together
  std::string place;       ///< "[1, 2]", or "direction 3" for a derivative along a random direction
  double analytic = 0;     ///< by backward()
  double numeric = 0;      ///< by differences of the reference
  double error = 0;        ///< |analytic - numeric|
  double relative = 0;     ///< error / the largest |numeric| of the leaf
  std::size_t probed = 0;  ///< entries and directions that were compared
  std::size_t failed = 0;  ///< those that were out of tolerance
  double severity = 0;     ///< error / the error allowed, at the worst place

  /// Whether everything was within its tolerance.
  bool ok() const { return failed == 0; }
};

/// The outcome of check_gradients().
struct GradientReport {
  std::vector<GradientRow> rows;  ///< one a leaf, then the combination of all
  /// Broken laws of the reverse pass, in words, each naming the leaf: a gradient that did not
  /// arrive, two calls that differ, a backward that is not linear, a check that checked nothing.
  std::vector<std::string> failures;

  /// Whether all rows are within their tolerances and no law is broken.
  bool ok() const;
  /// The row furthest out of its tolerance. Requires: there is a row.
  const GradientRow& worst() const;
  /// An aligned table, a line for each leaf, failed ones marked with '!'; below it the failures.
  std::string table() const;
};

}  // namespace xgrad
