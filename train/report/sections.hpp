// The parts of report.html that show what a model does.
#pragma once

#include <string>

#include <xgrad/train/report/examine.hpp>

namespace xgrad::html {

/// Counts of each class for each class, the darker the larger a part of its row.
std::string confusion_section(const Confusion& confusion);
/// Examples with predictions; what is wrong is marked.
std::string samples_section(const Examination& found);
/// The maps of every head for one example.
std::string maps_section(const Examination& found);
/// What each head does on all examples, and what the model loses without it; empty without heads.
std::string heads_section(const AttentionStudy& study);

}  // namespace xgrad::html
