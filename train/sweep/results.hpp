// The results of a sweep as files for other programs.
#pragma once

#include <string>
#include <vector>

#include <xgrad/train/sweep/plan.hpp>

namespace xgrad {

/// The results as JSON and as CSV (RFC 4180), with the same names and numbers.
struct SweepFiles {
  std::string json, csv;
};

/// Returns an object, or a line below a line of names, per run that began: `run`, `state`, `step`,
/// `seconds`, the keys of its setting, and its last metrics as SPLIT_NAME, with standard errors as
/// SPLIT_NAME_se. A number that a run lacks is left out, in CSV an empty cell. In CSV, text that a
/// spreadsheet would run as a formula has an apostrophe before it. Throws IoError.
SweepFiles sweep_files(const std::vector<SweptRun>& runs);

}  // namespace xgrad
