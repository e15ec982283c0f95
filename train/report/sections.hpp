// The sections of report.html that show what a model predicts and attends to.
#pragma once

#include <string>

#include <xgrad/train/report/examine.hpp>

namespace xgrad::html {

/// The confusion matrix. A cell is darker the larger its part of the row.
std::string confusion_section(const Confusion& confusion);
/// Examples with predictions; errors are marked.
std::string samples_section(const Examination& found);
/// The attention maps of every head for one example.
std::string maps_section(const Examination& found);
/// The metrics of each head over all examples, and the loss of the model without it; empty if there
/// are no heads.
std::string heads_section(const AttentionStudy& study);

}  // namespace xgrad::html
