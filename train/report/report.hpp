// report.html: one self-contained page about one run or several.
#pragma once

#include <string>
#include <vector>

#include <xgrad/storage/disk/folder.hpp>
#include <xgrad/train/report/examine.hpp>

namespace xgrad {

/// Returns the page. It uses no script and loads nothing. Where a run failed or lost files, it says
/// what cannot be shown and why. Throws IoError if a path is not a run.
std::string report_html(const std::vector<std::string>& runs, const ExamineOptions& options = {});

/// Writes the page to `directory`/`name`, replacing an older one. Throws IoError.
void write_report(const Folder& directory, const std::string& name,
                  const std::vector<std::string>& runs, const ExamineOptions& options = {});

}  // namespace xgrad
