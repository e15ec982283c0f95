// The sections of report.html.
#pragma once

#include <string>
#include <vector>

#include <xgrad/train/logs/history.hpp>
#include <xgrad/train/report/examine.hpp>

namespace xgrad::html {

/// The confusion matrix. A cell is darker the larger its part of the row.
std::string confusion_section(const Examination& found);
/// Examples with predictions; errors are marked.
std::string samples_section(const Examination& found);
/// The attention maps of every head for one example.
std::string maps_section(const Examination& found);
/// The metrics of each head over all examples, and the loss of the model without it; empty if there
/// are no heads.
std::string heads_section(const AttentionStudy& study);

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
