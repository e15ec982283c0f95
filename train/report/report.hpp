// report.html: one self-contained page about a run, or several side by side.
#pragma once

#include <string>
#include <vector>

#include <xgrad/storage/disk/folder.hpp>

namespace xgrad {

/// The page: no script, nothing from outside. Says what cannot be shown, and why, where a run has
/// failed or lost files. `heads` adds a study of each head. Throws IoError where a path is no run.
std::string report_html(const std::vector<std::string>& runs, bool heads = false);

/// Writes `directory`/`name` in place of an older one. Throws IoError.
void write_report(const Folder& directory, const std::string& name,
                  const std::vector<std::string>& runs, bool heads = false);

}  // namespace xgrad
