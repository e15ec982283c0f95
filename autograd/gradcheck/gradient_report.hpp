// GradientReport: the results of a gradient check.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace xgrad {

/// The result for one leaf, or for all leaves together, at the place of the worst error. The
/// derivatives are those of <u, f> for a random u, or of f itself if it is a single number.
struct GradientRow {
  std::string name;        ///< the leaf's name; "all" for directions through all leaves together
  std::string place;       ///< "[1, 2]", or "direction 3" for a derivative along a random direction
  double analytic = 0;     ///< derivative by backward()
  double numeric = 0;      ///< derivative by differences of the reference
  double error = 0;        ///< |analytic - numeric|
  double relative = 0;     ///< error / scale
  double scale = 0;        ///< the largest |numeric| of the leaf
  std::size_t probed = 0;  ///< number of entries and directions compared
  std::size_t directions = 0;  ///< number of directions among them
  std::size_t failed = 0;      ///< number of these out of tolerance
  double severity = 0;         ///< error / the error allowed, at the worst place

  /// Whether everything was within its tolerance.
  bool ok() const { return failed == 0; }
};

/// The outcome of check_gradients().
struct GradientReport {
  std::vector<GradientRow> rows;  ///< one per leaf, then one for all leaves together
  /// Broken laws of backward(), in words: a gradient that did not arrive, two calls that differ, a
  /// backward that is not linear, a check that checked nothing. Each names the leaf.
  std::vector<std::string> failures;

  /// Whether all rows are within their tolerances and no law is broken.
  bool ok() const;
  /// The row furthest out of its tolerance. Requires: there is a row.
  const GradientRow& worst() const;
  /// An aligned table with a line per row, failed ones marked with '!', and the failures below.
  std::string table() const;
};

}  // namespace xgrad
