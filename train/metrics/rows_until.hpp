// Tells the rows of a log up to a step from those of later steps, and from lines that are no rows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <xgrad/storage/disk/folder.hpp>

namespace xgrad {

/// The lines of a log up to a step.
struct RowsUntil {
  std::uint64_t end = 0;                ///< bytes before the first row of a later step
  bool has_end = true;                  ///< whether a newline ends these bytes
  std::vector<std::uint64_t> bad = {};  ///< numbers, from 1, of lines in them that are no rows
};

/// Looks for the rows of a run up to `step` in a log; unless the step is `validated`, without the
/// row of its validation. A row whose step does not fit between those of its neighbours counts as
/// none. The row of the test split, and a last line that is cut short, count as of a later step: a
/// finished run writes the row again whenever it is resumed. Requires that the log exists. Throws
/// IoError, also if a line is longer than kMostLine bytes.
RowsUntil rows_until(const Folder& run, const std::string& name, std::uint64_t step,
                     bool validated = true);

}  // namespace xgrad
