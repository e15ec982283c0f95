// report.html: one self-contained page about one run or several.
#pragma once

#include <string>
#include <vector>

namespace xgrad {

/// Returns the page. It uses no script and loads nothing. Where a run failed or lost files, it says
/// what cannot be shown and why. `heads` adds a study of each head. Throws IoError if a path is not
/// a run.
std::string report_html(const std::vector<std::string>& runs, bool heads = false);

}  // namespace xgrad
