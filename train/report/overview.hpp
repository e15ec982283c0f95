// The sections of report.html that compare groups of runs, or show the only group.
#pragma once

#include <string>
#include <vector>

#include <xgrad/train/metrics/groups.hpp>

namespace xgrad::html {

/// Sorts groups by validation loss, lowest first and groups with a failed run last.
void sort_groups(std::vector<RunGroup>& groups);
/// The run with the lowest validation loss among those that the means are over.
const RunHistory& best_run(const RunGroup& group);

/// A table of the last metrics. Several groups have a row each, in the colour of their lines. A
/// single group has a row for each metric, followed by the rows of `more`, which are already HTML.
std::string results_section(const std::vector<RunGroup>& groups,
                            const std::vector<std::vector<std::string>>& more);
/// A table of the runs of a group; empty if it has only one run.
std::string runs_section(const RunGroup& group);
/// Charts of all metrics under one legend, for the kLooks best groups.
std::string curves_section(const std::vector<RunGroup>& groups);
/// A table of the keys in which groups differ; empty if they do not differ.
std::string settings_section(const std::vector<RunGroup>& groups);

}  // namespace xgrad::html
